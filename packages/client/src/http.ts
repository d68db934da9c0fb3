// The transport over HTTP: each job of the contract as the equivalent request.
//
// A request that got no answer is made again until the time is over. Sends and new campaigns carry an idempotency key
// for that, one of the caller's or a new one; everything else sets a state, so that a repeat is harmless.
import { randomUUID } from 'node:crypto'
import { isAnswer, membersOf } from './contract.ts'
import { notAsPromised } from './errors.ts'
import type { HttpCaller, HttpRequest } from './http-call.ts'
import { ANSWER_LIMIT_MS, type Reply, type Transport } from './transport.ts'
import type { IntakeJob, IntakeRequests } from './types.ts'

/** Requests under way at a time. */
const AT_ONCE = 20

type JobRequest = HttpRequest & {
  /** Takes the job's answer from the body. */
  answer: (body: Readonly<Record<string, unknown>>) => unknown
}

const ofMove =
  (verb: string) =>
  ({ campaign_id, ...fields }: { campaign_id: string }): JobRequest => ({
    method: 'POST',
    path: `/campaigns/${encodeURIComponent(campaign_id)}/${verb}`,
    body: fields,
    keyIn: 'bearer',
    answer: campaignNow,
  })

/** The campaign in an answer, as the jobs give it. */
function campaignNow({ data }: Readonly<Record<string, unknown>>): unknown {
  const { id, state } = membersOf(data)
  return { campaign_id: id, state }
}

const REQUESTS: { [J in IntakeJob]: (fields: IntakeRequests[J]) => JobRequest } = {
  send: ({ message, idempotency_key = randomUUID(), traceparent }) => ({
    method: 'POST',
    path: message.type === 'template' ? '/chatappbusiness/send-templated-message' : '/sendservicemessages/sendmessages',
    body: message,
    keyIn: 'body',
    idempotencyKey: idempotency_key,
    traceparent,
    answer: ({ messages }) => ({ message_id: membersOf(Array.isArray(messages) ? messages[0] : undefined).id }),
  }),
  status: (fields) => ({
    method: 'POST',
    // The address is spelled like this.
    path: '/chatappbusiness/getmessgageinfobyid',
    body: fields,
    keyIn: 'body',
    answer: ({ message }) => message,
  }),
  'campaign-create': ({ campaign, idempotency_key = randomUUID() }) => ({
    method: 'POST',
    path: '/campaigns',
    body: campaign,
    keyIn: 'bearer',
    idempotencyKey: idempotency_key,
    answer: campaignNow,
  }),
  'campaign-preflight': ofMove('preflight'),
  'campaign-schedule': ofMove('schedule'),
  'campaign-start': ofMove('start'),
  'campaign-pause': ofMove('pause'),
  'campaign-resume': ofMove('resume'),
  'campaign-cancel': ofMove('cancel'),
  'campaign-show': ({ campaign_id }) => ({
    method: 'GET',
    path: `/campaigns/${encodeURIComponent(campaign_id)}`,
    keyIn: 'bearer',
    answer: ({ data }) => data,
  }),
}

/** The jobs of the contract over HTTP. */
export function openHttp(caller: HttpCaller): Transport {
  async function askFor<J extends IntakeJob>(job: J, fields: IntakeRequests[J], limitMs: number): Promise<Reply<J>> {
    const { answer: answerOf, ...request } = REQUESTS[job](fields)
    const reply = await caller.ask(request, limitMs)
    if (!reply.ok) return reply
    const answer = answerOf(reply.body)
    const check = isAnswer[job]
    if (!check(answer)) throw notAsPromised(job)
    return { ok: true, answer }
  }

  return {
    async ask(job, requests, timeoutMs = ANSWER_LIMIT_MS) {
      const replies: Reply<typeof job>[] = []
      // The runners share one list.
      const rest = requests.entries()
      const run = async (): Promise<void> => {
        for (const [i, fields] of rest) replies[i] = await askFor(job, fields, timeoutMs)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, run))
      return replies
    },
    close: async () => {},
  }
}
