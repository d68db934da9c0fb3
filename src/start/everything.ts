// Everything in one command: producer and worker in this process, with a private Redis as a child unless REDIS_URL is set.
// `npm start` runs this with the demo beside it (packages/simulator/demo/start.ts).
//
// Parts are started in order and stopped in reverse: data folder, Redis, the companion, worker, producer. Killed at any
// line, the next start finds what was left behind, ends it or takes it over, and goes on with the same data.
import { styleText } from 'node:util'
import { type Config, loadConfig, startedByNpm } from '../kernel/config.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { ownNodeProblem } from '../kernel/node-line.ts'
import type { DemoSwitch } from '../producer/api/console/handlers.ts'
import { lockDataDir } from './data-dir-lock.ts'
import { openDataFolder } from './data-folder.ts'
import { createLifecycle, type Lifecycle, restartProcess, StopRequested } from './lifecycle.ts'
import { assertCanListen } from './ports.ts'
import { waitUntil } from './processes.ts'
import { StartError, startupErrorMessage } from './start-error.ts'
import { warnOfNode, warnOfUnknownSettings } from './warnings.ts'

/** A worker is known from its first heartbeat on, within its first second; the rest is for a slow machine. */
const READY_LIMIT_MS = 30_000

/** What runs beside the service outside of production, such as the demo. */
export interface Companion {
  /** Removes the mark that a service runs here, which a killed one left behind. */
  cleanUp(dataDir: string): void
  /** Starts what comes before the service. */
  begin(config: Config, redisUrl: string, life: Lifecycle, log: Log): Promise<BegunCompanion>
}

/** A companion whose first half has been started. */
export interface BegunCompanion {
  /** What the service is to run with. */
  config: Config
  demo: DemoSwitch
  /** Called when the service is ready; returns the companion's lines of the banner. */
  finish(baseUrl: string): Promise<BannerLines>
}

/** Lines of the banner: before the tools of the service, further tools, and what comes below. */
export interface BannerLines {
  keys: readonly string[]
  tools: readonly string[]
  rest: readonly string[]
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

/** Runs everything until a signal ends it. Prints one sentence and exits with 1 when it cannot start. */
export async function runEverything(companion: Companion): Promise<void> {
  let life: Lifecycle | undefined
  try {
    const loaded = loadConfig()
    const config = { ...loaded, dataDir: openDataFolder(loaded.dataDir) }
    const log = createLog(config, 'laneway')
    warnOfUnknownSettings(log)
    warnOfNode(log)
    const parent = startedByNpm() ? process.ppid : 0
    life = createLifecycle(log, parent, () => restartProcess(parent, say))
    await startAll(config, companion, parent, life, log)
  } catch (error) {
    if (error instanceof StopRequested) return
    say(
      startupErrorMessage(error) ?? `Laneway could not start: ${error instanceof Error ? error.stack : String(error)}`,
    )
    if (life === undefined) process.exit(1)
    await life.stop('the start failed', 1)
  }
}

async function startAll(config: Config, companion: Companion, parent: number, life: Lifecycle, log: Log) {
  await life.start(
    'data folder',
    () => lockDataDir(config.dataDir, parent, say),
    (lock) => ({ announce: lock.markStopping, stop: lock.release, abandon: lock.release }),
  )
  companion.cleanUp(config.dataDir)
  await assertCanListen(config.host, config.port)
  // What knows Redis is loaded only now: most refusals come before.
  const { openRedis, startService } = await import('./service.ts')
  const redisUrl = await openRedis(config, life, log)
  const begun = config.production ? undefined : await companion.begin(config, redisUrl, life, log)
  const baseUrl = await startService(begun?.config ?? config, redisUrl, life, log, begun?.demo)
  await waitUntilReady(baseUrl)
  const lines = (await begun?.finish(baseUrl)) ?? {
    keys: [],
    tools: [],
    rest: ['LANEWAY_ENV is production: no simulator, no demo data.'],
  }
  process.stdout.write(banner(baseUrl, lines))
}

/** Resolves when GET /readyz answers 200; a StartError with its last words otherwise. */
async function waitUntilReady(baseUrl: string): Promise<void> {
  let lastWords = ''
  const isReady = await waitUntil(async () => {
    const answer = await fetch(`${baseUrl}/readyz`)
    lastWords = await answer.text()
    return answer.ok
  }, READY_LIMIT_MS)
  if (!isReady) throw new StartError(`Laneway started but is not ready: ${lastWords}`)
}

/** Writes text for a terminal bold or dim, where it has colours. */
export function styled(style: 'bold' | 'dim', text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? styleText(style, text) : text
}

const onlyGiven = (line: string | undefined): string[] => (line === undefined ? [] : [line, ''])

/** What a start prints once it is ready. `problem` is what is wrong with the Node that runs it. */
export const banner = (
  baseUrl: string,
  { keys, tools, rest }: BannerLines,
  problem: string | undefined = ownNodeProblem(),
): string =>
  [
    '',
    styled('bold', `Laneway is ready at ${baseUrl}`),
    '',
    ...keys,
    `  console        ${baseUrl}/console`,
    '  command line   npm run cli -- --help',
    ...tools,
    '',
    ...rest,
    '',
    ...onlyGiven(problem),
    styled('dim', 'Ctrl-C stops everything; the next start finds the same data.'),
    '',
    '',
  ].join('\n')
