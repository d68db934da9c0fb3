// A stand-in for the release before: what the client asks is answered as that release answered the very same, from a
// tape. To make a tape the same stand-in passes everything on to that release and writes down what comes back.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { FORMER_INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { listen } from '../../testbed/free-port.ts'
import { intakeQueue, serveIntakeQueue } from './state/queues.ts'
import { eventually } from './wait.ts'

/** Stands on the tape where the key of the account was. */
export const KEY = 'KEY'

const askSchema = z.union([
  z.object({
    request: z.string(),
    authorization: z.string().optional(),
    idempotency_key: z.string().optional(),
    body: z.unknown().optional(),
  }),
  z.object({ job: z.string(), data: z.record(z.string(), z.unknown()) }),
])
/** A request over HTTP, `POST /path`, or a job of the intake queue. */
export type Ask = z.infer<typeof askSchema>

/** Over HTTP status and body; of a job what it returned, or why it failed, in the words of the queue. */
const replySchema = z.union([
  z.object({ status: z.int(), body: z.unknown().optional() }),
  z.object({ failed: z.string() }),
  z.object({ returned: z.unknown().optional() }),
])
export type Reply = z.infer<typeof replySchema>

export const tapeSchema = z.object({
  /** Commit of the release. */
  release: z.string(),
  /** What the account had: a sender and a tag with contacts. */
  given: z.object({ sender: z.string(), tag: z.int() }),
  /** Each ask once, with its replies in their order. */
  exchanges: z.array(z.object({ ask: askSchema, replies: z.array(replySchema).min(1) })),
  /** What the client made of them. */
  told: z.array(z.unknown()),
})
export type Tape = z.infer<typeof tapeSchema>

/** Answers what the client asks. */
export type Answerer = (ask: Ask) => Promise<Reply>

/** As JSON, where a field that is undefined is none. */
const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Answers from a tape, the last reply again and again; `unheard` are asks that are not on it. */
export function answerFrom(exchanges: Tape['exchanges']): { answer: Answerer; unheard: Ask[] } {
  const rest = exchanges.map(({ ask, replies }) => ({ ask, replies: [...replies] }))
  const unheard: Ask[] = []
  return {
    unheard,
    async answer(ask) {
      const found = rest.find((each) => same(each.ask, ask))
      const reply = found && found.replies.length > 1 ? found.replies.shift() : found?.replies[0]
      if (reply) return reply
      unheard.push(ask)
      return 'job' in ask ? { failed: 'this was never asked' } : { status: 418, body: {} }
    },
  }
}

/** Notes what another answerer answers. */
export function noting(answer: Answerer): { answer: Answerer; exchanges: Tape['exchanges'] } {
  const exchanges: Tape['exchanges'] = []
  return {
    exchanges,
    async answer(ask) {
      const reply = await answer(ask)
      const found = exchanges.find((each) => same(each.ask, ask))
      if (found) found.replies.push(reply)
      else exchanges.push({ ask, replies: [reply] })
      return reply
    },
  }
}

/** Passes on to a service that runs, over HTTP and through its intake queue, with its own key instead of KEY. */
export function passOn(service: { url: string; redisUrl: string; apiKey: string }): {
  answer: Answerer
  close(): Promise<void>
} {
  const queue = intakeQueue(service.redisUrl, FORMER_INTAKE_QUEUE)
  const opened = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll(`"${KEY}"`, `"${service.apiKey}"`))
  return {
    async answer(ask) {
      if ('job' in ask) {
        const { id = '' } = await queue.add(ask.job, opened(ask.data))
        const ended = await eventually(async () => {
          const job = await queue.getJob(id)
          return job?.finishedOn === undefined ? undefined : job
        }, `${ask.job} ends`)
        return ended.failedReason ? { failed: ended.failedReason } : { returned: ended.returnvalue }
      }
      const [method = '', path = ''] = ask.request.split(' ')
      const response = await fetch(service.url + path, {
        method,
        headers: {
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(ask.authorization && { authorization: ask.authorization.replace(KEY, service.apiKey) }),
          ...(ask.idempotency_key && { 'idempotency-key': ask.idempotency_key }),
        },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(opened(ask.body)) }),
      })
      return { status: response.status, body: await response.json() }
    },
    close: () => queue.close(),
  }
}

/** Serves an answerer over HTTP. */
export async function serveHttp(answer: Answerer): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { authorization, 'idempotency-key': key } = request.headers
    const read = await text(request)
    const ask = askSchema.parse({
      request: `${request.method} ${request.url}`,
      ...(authorization === undefined ? {} : { authorization }),
      ...(key === undefined ? {} : { idempotency_key: key }),
      ...(read === '' ? {} : { body: JSON.parse(read) }),
    })
    const reply = await answer(ask)
    if (!('status' in reply)) throw new Error('a job has no answer over HTTP')
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body))
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Serves an answerer as the worker of an intake queue. */
export function serveIntake(redisUrl: string, answer: Answerer): { close(): Promise<void> } {
  return serveIntakeQueue(redisUrl, FORMER_INTAKE_QUEUE, async ({ name, data }) => {
    const reply = await answer(askSchema.parse({ job: name, data }))
    if (!('failed' in reply || 'returned' in reply)) throw new Error('an answer over HTTP ends no job')
    return reply
  })
}
