// Starts the producer that is attacked as a process of its own, and asks it how it is.
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

/** Starts it with these settings. */
export async function startApart(env: Readonly<Record<string, string>>): Promise<Apart> {
  const child = fork(new URL('./producer-process.js', import.meta.url), {
    env: { PATH: process.env.PATH, ...env },
    execArgv: ['--expose-gc', '--max-old-space-size=1024'],
  })
  const ended = once(child, 'exit').then(([code, signal]) => `the producer ended (${signal ?? `exit ${code}`})`)
  const [message] = await Promise.race([once(child, 'message'), ended.then((how) => Promise.reject(new Error(how)))])
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
