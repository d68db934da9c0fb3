// `npm start`: the whole service in one process and, outside of production, the demo beside it: a simulator of the chat
// product, two accounts to explore, made-up traffic, and demo.json with everything that a newcomer needs.
import '../../../src/kernel/without-debug.ts'

import { runEverything } from '../../../src/start/everything.ts'
import { removeDemoFile } from './record.ts'

await runEverything({
  cleanUp: removeDemoFile,
  // Loaded only when it is needed: most refusals come before.
  begin: async (...given) => (await import('./demo.ts')).beginDemo(...given),
})
