// A child process of the bench that answers questions: the sink, the load generator, the baselines. One question is
// one IPC message with a number, and the answer carries the number back.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const answerSchema = z.object({ number: z.number(), answer: z.unknown().optional(), failure: z.string().optional() })
const questionSchema = z.object({ number: z.number(), name: z.string(), detail: z.unknown() })

/**
 * What every process of the bench runs with, ours and theirs: package.json and the Dockerfile have it too. With a limit
 * that it does not come near, V8 lets less garbage pile up: 136 MB instead of 218 in a producer under full load.
 */
export const NODE_FLAGS = ['--max-old-space-size=1024']
/** The same of those that send, ours and theirs. */
export const WORKER_FLAGS = [...NODE_FLAGS, '--max-semi-space-size=32']

export interface Child {
  pid: number
  /** Asks and waits; rejects with what the child threw. `answer` is the schema of what must come back. */
  ask<S extends z.ZodType>(name: string, detail: unknown, answer: S): Promise<z.output<S>>
  stop(): Promise<void>
}

/** Starts `<script>.js` of the compiled bench and waits until it answers. */
export async function startChild(script: string, flags: readonly string[] = NODE_FLAGS): Promise<Child> {
  const path = fileURLToPath(new URL(`./${script}.js`, import.meta.url))
  const child = fork(path, [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    execArgv: [...process.execArgv, ...flags],
  })
  const waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>()
  let asked = 0
  child.on('message', (message) => {
    const { number, answer, failure } = answerSchema.parse(message)
    const question = waiting.get(number)
    waiting.delete(number)
    if (failure === undefined) question?.resolve(answer)
    else question?.reject(new Error(`${script}: ${failure}`))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`${script} ended (${signal ?? code})`))
  })

  const self: Child = {
    pid: child.pid ?? 0,
    async ask(name, detail, answer) {
      asked += 1
      const number = asked
      const came = await new Promise<unknown>((resolve, reject) => {
        waiting.set(number, { resolve, reject })
        child.send({ number, name, detail }, (error) => error && reject(error))
      })
      return answer.parse(came)
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
  await self.ask('hello', undefined, z.literal('hello'))
  return self
}

/** The child's side: answers each question by the function of its name. Ends with the process that asks. */
export function answerQuestions(answers: Readonly<Record<string, (detail: unknown) => Promise<unknown>>>): void {
  const all: typeof answers = { ...answers, hello: async () => 'hello' }
  process.on('disconnect', () => process.exit(0))
  process.on('message', async (message) => {
    const { number, name, detail } = questionSchema.parse(message)
    try {
      const answer = await all[name]?.(detail)
      process.send?.({ number, answer })
    } catch (error) {
      process.send?.({ number, failure: error instanceof Error ? error.message : String(error) })
    }
  })
}
