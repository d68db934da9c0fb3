// Starts the producer that is attacked, and the worker beside it, as processes of their own, and asks the first how it is.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'

const started = z.object({ url: z.string() })
const stateSchema = z.object({
  /** The longest turn of the event loop since the last look, in ms of CPU time. */
  longestMs: z.number(),
  /** Bytes that are held after everything that is garbage was collected. */
  heldBytes: z.number(),
})
export type ProducerState = z.infer<typeof stateSchema>

/** A producer in a process of its own. `ended` resolves, with a sentence, when it ends by itself. */
export interface Apart {
  url: string
  look: () => Promise<ProducerState>
  ended: Promise<string>
  close: () => void
}

type Settings = Readonly<Record<string, string>>

/** Starts it with these settings. */
export async function startApart(env: Settings): Promise<Apart> {
  const { child, ended, message } = await start('producer', env)
  return {
    url: started.parse(message).url,
    async look() {
      const answer = once(child, 'message')
      child.send('look')
      const [state] = await Promise.race([answer, ended.then((how) => Promise.reject(new Error(how)))])
      return stateSchema.parse(state)
    },
    ended,
    close: () => child.disconnect(),
  }
}

/** Starts a worker with these settings; it works until it is closed, or whoever started it ends. */
export async function startWorkerApart(env: Settings): Promise<{ ended: Promise<string>; close: () => void }> {
  const { child, ended } = await start('worker', env)
  return { ended, close: () => child.disconnect() }
}

/** Resolves with what it says first. */
async function start(part: 'producer' | 'worker', env: Settings) {
  const child = fork(new URL(`./${part}-process.js`, import.meta.url), {
    env: { PATH: process.env.PATH, ...env },
    execArgv: ['--expose-gc', '--max-old-space-size=1024'],
  })
  const ended = once(child, 'exit').then(([code, signal]) => `the ${part} ended (${signal ?? `exit ${code}`})`)
  const [message] = await Promise.race([once(child, 'message'), ended.then((how) => Promise.reject(new Error(how)))])
  return { child, ended, message }
}
