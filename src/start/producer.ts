// The producer as a process of its own.
import { startProducer } from '../producer/main.ts'
import { runPart } from './run-part.ts'

await runPart('producer', startProducer)
