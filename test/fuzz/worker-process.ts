// A worker in a process of its own: beside whoever attacks, it would hear too late that there is work, and what waits for it
// would be told that there is none.
import { loadConfig } from '../../src/kernel/config.ts'
import { createLog } from '../../src/kernel/log.ts'
import { startWorker } from '../../src/worker/main.ts'

const config = loadConfig()
const redisUrl = config.redisUrl
if (redisUrl === undefined) throw new Error('REDIS_URL is missing')
await startWorker(config, redisUrl, createLog(config, 'worker'))
process.on('disconnect', () => process.exit(0))
process.send?.({ url: '' })
