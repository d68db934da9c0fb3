// `npm start`: makes a fresh clone runnable, then runs everything in this very process, so that signals to npm reach
// the service and nothing stands between them.
import { prepareBuild } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'
import { SETTINGS, takeWords } from './words.mjs'

takeWords('npm start', [], SETTINGS)
prepareBuild()
if (!process.env.REDIS_URL) prepareRedis()
await import('../dist/demo/start.js')
