// The producer as a process of its own.
import '../kernel/without-debug.ts'

import { runPart } from './run-part.ts'

// Loaded once the settings are known to be good, which is what a start mostly fails for.
await runPart('producer', async (...given) => (await import('../producer/main.ts')).startProducer(...given))
