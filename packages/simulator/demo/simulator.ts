// The simulator of WhatsApp as a child process, reached by URL only. It ends by itself when this process does (the
// channel between them closes), and is started again on the same port when it dies. Unless SIMULATOR_PORT is set, the port is
// kept over restarts, because people's tools and the demo senders remember it.
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { bareEnvironment } from '../../../src/kernel/config.ts'
import type { Log } from '../../../src/kernel/log.ts'
import { readJsonFile, writeJsonFile } from '../../../src/start/data-folder.ts'
import { tryListen } from '../../../src/start/ports.ts'
import { endChild, waitUntil } from '../../../src/start/processes.ts'
import { StartError, systemCode } from '../../../src/start/start-error.ts'
import { demoAccounts } from './data.ts'

/** A running simulator. */
export interface SimulatorChild {
  url: string
  /** From now on it posts its webhooks there, also after it had to be started again. */
  sendWebhooksTo(url: string): Promise<void>
  stop(): Promise<void>
}

/** So that a check of a demo sender finds the number that it has. */
const DEMO_NUMBERS = Object.values(demoAccounts)
  .flatMap(({ senders }) => senders)
  .filter(({ phoneNumberId }) => phoneNumberId !== '')
  .map(({ phoneNumberId, number }) => `${phoneNumberId}=${number}`)
  .join(',')

const LOOPBACK = '127.0.0.1'
/** A process of the run before may still be closing its port. */
const PORT_PATIENCE_MS = 2_000
const END_LIMIT_MS = 3_000
const RESTART_PAUSE_MS = 500
const portsSchema = z.object({ simulator: z.number().int().optional() })
const listeningSchema = z.object({ listening: z.url() })

/** Starts it on the port it had before and waits until it listens. `appSecret` signs its webhooks. */
export async function startSimulatorChild(dataDir: string, appSecret: string, log: Log): Promise<SimulatorChild> {
  const port = await simulatorPort(dataDir)
  let webhookUrl = ''
  const launch = () => launchSimulator(dataDir, { port, appSecret, webhookUrl })

  let child = launch()
  let stopping = false
  let relaunch: NodeJS.Timeout | undefined
  const url = await listening(child, dataDir)
  const died = (how: object) => {
    if (stopping) return
    log.error(how, 'simulator.died')
    relaunch = setTimeout(again, RESTART_PAUSE_MS)
  }
  // Also a launch that fails at once, as where no file can be opened, is tried again: it must not end everything else.
  const again = () => {
    try {
      child = launch()
    } catch (error) {
      died({ err: error })
      return
    }
    watch()
  }
  // A launch that the system refuses has an error and no exit; trouble with its channel is followed by one.
  const watch = () => {
    const watched = child
    watched.once('exit', (code, killedBy) => died({ code, signal: killedBy }))
    watched.on('error', (error) => {
      if (watched.pid === undefined) died({ err: error })
    })
  }
  watch()
  log.info({ url, pid: child.pid }, 'simulator.started')
  return {
    url,
    async sendWebhooksTo(address) {
      webhookUrl = address
      const answer = await fetch(`${url}/_control`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ webhook_url: address }),
      })
      if (!answer.ok) throw new Error(`The simulator refused the webhook address: ${await answer.text()}`)
    },
    async stop() {
      stopping = true
      clearTimeout(relaunch)
      await endChild(child, END_LIMIT_MS)
    },
  }
}

/** The port of SIMULATOR_PORT; if there is none of that or any will do, the one that is kept. */
async function simulatorPort(dataDir: string): Promise<string> {
  const pinned = bareEnvironment({}).SIMULATOR_PORT ?? ''
  if (Number(pinned) === 0) return String(await keptSimulatorPort(dataDir))
  await waitUntil(() => isFree(Number(pinned)), PORT_PATIENCE_MS)
  // If it is no port, or taken by another program, the simulator says so itself.
  return pinned
}

/** The port that the simulator had before, when it is free; else another free one, which is remembered from now on. */
async function keptSimulatorPort(dataDir: string): Promise<number> {
  const path = join(dataDir, 'ports.json')
  const kept = readJsonFile(path, portsSchema)?.simulator
  if (kept !== undefined && (await waitUntil(() => isFree(kept), PORT_PATIENCE_MS))) return kept
  const port = await tryListen(LOOPBACK, 0)
  writeJsonFile(path, { simulator: port })
  return port
}

async function isFree(port: number): Promise<boolean> {
  try {
    await tryListen(LOOPBACK, port)
    return true
  } catch {
    return false
  }
}

/**
 * Its own process group, so that Ctrl-C in the terminal ends it only after the worker has drained; its output in a
 * file, so that whoever reads ours sees the end when we die. The ledger is a file, because it must outlive a restart.
 */
function launchSimulator(
  dataDir: string,
  settings: { port: string; appSecret: string; webhookUrl: string },
): ChildProcess {
  const output = openSync(join(dataDir, 'simulator.log'), 'w', 0o600)
  try {
    return fork(fileURLToPath(new URL('../simulator/main.js', import.meta.url)), [], {
      detached: true,
      stdio: ['ignore', output, output, 'ipc'],
      env: bareEnvironment({
        SIMULATOR_HOST: LOOPBACK,
        SIMULATOR_PORT: settings.port,
        SIMULATOR_NUMBERS: DEMO_NUMBERS,
        SIMULATOR_APP_SECRET: settings.appSecret,
        SIMULATOR_WEBHOOK_URL: settings.webhookUrl,
        SIMULATOR_LEDGER_FILE: join(dataDir, 'simulator-ledger.ndjson'),
      }),
    })
  } finally {
    closeSync(output)
  }
}

/** The address it listens on, sent over the channel; a StartError with its last output when it ends instead. */
function listening(child: ChildProcess, dataDir: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      reject(new StartError(`The simulator did not start: ${lastOutput(dataDir)}`))
    }
    child.once('message', (message) => {
      // From now on its end is no failure to start.
      child.off('exit', ended)
      const report = listeningSchema.safeParse(message)
      if (report.success) resolve(report.data.listening)
      else reject(new StartError('The simulator did not report its address.'))
    })
    child.once('exit', ended)
    child.once('error', reject)
  })
}

/** Its last output, if that can be read. */
function lastOutput(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'simulator.log'), 'utf8').trim()
  } catch (error) {
    return `its output cannot be read (${systemCode(error)})`
  }
}
