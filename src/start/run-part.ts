// One part as a process of its own, any number of each: `npm run producer`, `npm run worker`, docker compose.
import { type Config, ConfigError, loadConfig, startedByNpm } from '../config.ts'
import { createLog, type Log } from '../log.ts'
import { checkRedis } from '../store/redis-safety.ts'
import { openDataFolder } from './data-folder.ts'
import { createLifecycle, StopRequested } from './lifecycle.ts'
import { sentenceOf } from './sentence.ts'

type StartPart = (config: Config, redisUrl: string, log: Log) => Promise<{ close(): Promise<void> }>

/** Runs the part until a signal ends it. Prints one sentence and exits with 1 when it cannot start. */
export async function runPart(name: 'producer' | 'worker', startPart: StartPart): Promise<void> {
  try {
    const config = loadConfig()
    const { redisUrl } = config
    if (redisUrl === undefined) {
      throw new ConfigError(`REDIS_URL must be set for npm run ${name}; npm start brings a Redis of its own.`)
    }
    const log = createLog(config, name)
    const life = createLifecycle(log, startedByNpm() ? process.ppid : 0)
    const settings = { ...config, dataDir: openDataFolder(config.dataDir) }
    await life.start(
      name,
      async () => {
        await checkRedis(redisUrl, config.production, log)
        return startPart(settings, redisUrl, log)
      },
      (part) => ({ stop: () => part.close() }),
    )
  } catch (error) {
    if (error instanceof StopRequested) return
    const sentence = sentenceOf(error)
    if (sentence === undefined) throw error
    process.stderr.write(`${sentence}\n`)
    process.exit(1)
  }
}
