// The worker as a process of its own.
import { startWorker } from '../worker/main.ts'
import { runPart } from './run-part.ts'

await runPart('worker', startWorker)
