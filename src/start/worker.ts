// The worker as a process of its own.
import '../kernel/without-debug.ts'

import { runPart } from './run-part.ts'

// Loaded once the settings are known to be good, which is what a start mostly fails for.
await runPart('worker', async (...given) => (await import('../worker/main.ts')).startWorker(...given))
