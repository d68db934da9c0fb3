// Everything in one command: what `npm start` runs.
//
//   this process      producer and worker
//   its children      the private Redis (unless REDIS_URL is set), the simulator of the chat product (not in production)
//
// Parts are started in this order and stopped in reverse: data folder, Redis, simulator, worker, producer. Killed on
// any line, the next start finds what was left behind, ends or takes over it, and goes on with the same data.
import type { Config } from './config.ts'
import { loadConfig, startedByNpm } from './config.ts'
import type { Log } from './log.ts'
import { createLog } from './log.ts'
import { sourceStack } from './log-stack.ts'
import { checkRedis } from './redis/safety.ts'
import { banner } from './start/banner.ts'
import { checkDataKeys } from './start/check-data-keys.ts'
import { lockDataDir } from './start/data-dir-lock.ts'
import { openDataFolder } from './start/data-folder.ts'
import { removeDemoFile } from './start/demo-file.ts'
import { startEmbeddedRedis } from './start/embedded-redis.ts'
import type { Lifecycle } from './start/lifecycle.ts'
import { createLifecycle, StopRequested } from './start/lifecycle.ts'
import { pingRedis } from './start/ping-redis.ts'
import { assertCanListen } from './start/ports.ts'
import { checkSenders } from './start/production-senders.ts'
import { restartProcess } from './start/restart.ts'
import { startupErrorMessage } from './start/startup-error.ts'
import { warnOfUnknownSettings } from './start/unknown-settings.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)

async function main(): Promise<void> {
  let life: Lifecycle | undefined
  try {
    const loaded = loadConfig()
    const config = { ...loaded, dataDir: openDataFolder(loaded.dataDir) }
    const log = createLog(config, 'laneway')
    warnOfUnknownSettings(log)
    const parent = startedByNpm() ? process.ppid : 0
    life = createLifecycle(log, parent, () => restartProcess(parent, say))
    await startAll(config, parent, life, log)
  } catch (error) {
    if (error instanceof StopRequested) return
    const sentence = startupErrorMessage(error)
    say(
      sentence ??
        `Laneway could not start: ${error instanceof Error ? sourceStack(String(error.stack)) : String(error)}`,
    )
    if (life === undefined) process.exit(1)
    await life.stop('the start failed', 1)
  }
}

async function startAll(config: Config, parent: number, life: Lifecycle, log: Log): Promise<void> {
  await life.start(
    'data folder',
    () => lockDataDir(config.dataDir, parent, say),
    (lock) => ({ announce: lock.markStopping, stop: lock.release, abandon: lock.release }),
  )
  removeDemoFile(config.dataDir)
  await assertCanListen(config.host, config.port)
  const redisUrl = await openRedis(config, life, log)
  // Loaded only now: nearly all of the time that a start takes is spent on that, and most refusals come before.
  const { startAlone, startWithSimulator } = await import('./start/service.ts')
  await checkSenders(config, redisUrl)
  await checkDataKeys(config, redisUrl)
  const facts = await (config.production ? startAlone : startWithSimulator)(config, redisUrl, life, log)
  process.stdout.write(banner(facts, process.stdout.isTTY && process.stdout.hasColors()))
}

async function openRedis(config: Config, life: Lifecycle, log: Log): Promise<string> {
  if (config.redisUrl !== undefined) {
    await pingRedis(config.redisUrl)
    await checkRedis(config.redisUrl, config.production, log)
    return config.redisUrl
  }
  const redis = await life.start(
    'redis',
    () => startEmbeddedRedis(config.dataDir, log),
    (server) => ({ stop: server.stop, abandon: server.abandon }),
  )
  return redis.url
}

await main()
