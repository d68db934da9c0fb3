// One part as a process of its own, any number of each: `npm run producer`, `npm run worker`, docker compose.
import { join } from 'node:path'
import { ConfigError, loadConfig, startedByNpm } from '../kernel/config.ts'
import { createLog } from '../kernel/log.ts'
import type { StartPart } from './begin-part.ts'
import { openDataFolder } from './data-folder.ts'
import { createLifecycle, StopRequested } from './lifecycle.ts'
import { startupErrorMessage } from './start-error.ts'
import { warnOfNode, warnOfUnknownSettings } from './warnings.ts'

/** Runs the part until a signal ends it. Prints one sentence and exits with 1 when it cannot start. */
export async function runPart(name: 'producer' | 'worker', startPart: StartPart): Promise<void> {
  try {
    const config = loadConfig()
    const { redisUrl } = config
    if (redisUrl === undefined) {
      const demo = join(config.dataDir, 'demo.json')
      throw new ConfigError(
        `REDIS_URL must be set for npm run ${name}. A running npm start has a Redis of its own; redis_url in ${demo} is its address.`,
      )
    }
    const log = createLog(config, name)
    warnOfUnknownSettings(log)
    warnOfNode(log)
    const life = createLifecycle(log, startedByNpm() ? process.ppid : 0)
    const settings = { ...config, dataDir: openDataFolder(config.dataDir) }
    // Loaded once the settings are known to be good, which is what a start mostly fails for.
    const { beginPart } = await import('./begin-part.ts')
    await beginPart(name, settings, redisUrl, life, log, startPart)
  } catch (error) {
    if (error instanceof StopRequested) return
    const sentence = startupErrorMessage(error)
    if (sentence === undefined) throw error
    process.stderr.write(`${sentence}\n`)
    process.exit(1)
  }
}
