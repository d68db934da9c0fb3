// Requests to a running service, as a user of the interface makes them.
import { z } from 'zod'
import { apiClient } from './api.ts'
import type { Demo } from './laneway.ts'
import { eventually } from './wait.ts'

export interface Answered {
  status: number
  body: unknown
}

/** Posts JSON; a body is only sent when there is one. */
export async function call(
  url: string,
  body?: unknown,
  {
    method = 'POST',
    bearer = '',
    headers = {},
  }: { method?: string; bearer?: string; headers?: Record<string, string> } = {},
): Promise<Answered> {
  const { origin, pathname, search } = new URL(url)
  const answer = await apiClient(origin, bearer === '' ? undefined : bearer).open(pathname + search, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.json() }
}

type Caller = Pick<Demo, 'base_url' | 'api_key'>

type Callers = Caller & Pick<Demo, 'simulator_url'>

/** All requests that WhatsApp has taken, as text. */
const ledgerOf = async (simulator: string): Promise<string> => (await fetch(`${simulator}/_ledger`)).text()

const acknowledgement = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })

/** Sends an image message and returns the id of the acknowledgement. */
export async function sendImage({ base_url, api_key }: Caller, to = '+447700900123'): Promise<string> {
  const answer = await call(`${base_url}/sendservicemessages/sendmessages`, {
    to,
    recipient_type: 'individual',
    messaging_product: 'chatapp',
    api_key,
    type: 'image',
    image: { link: 'https://shop.example/spring.png' },
  })
  return acknowledgement.parse(answer.body).messages[0].id
}

const statusAnswer = z.object({ message: z.object({ status: z.string() }) })

/** The delivery status of a message. */
export async function statusOf({ base_url, api_key }: Caller, id: string): Promise<string> {
  const answer = await call(`${base_url}/chatappbusiness/getmessgageinfobyid`, { api_key, message_id: id })
  return statusAnswer.parse(answer.body).message.status
}

/**
 * Sends a message to a number that answers late, and returns its id once WhatsApp has its request: another one if this looked too late.
 * Before that it may be shown as `sending` and yet wait for its slot, and a worker that stops gives it back.
 */
export async function sendUnderWay({ simulator_url: simulator, ...caller }: Callers, to: string): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const id = await sendImage(caller, to)
    await eventually(async () => (await ledgerOf(simulator)).includes(id), `${id} is with WhatsApp`)
    const status = await statusOf(caller, id)
    if (status === 'sending') return id
    if (tries === 20) throw new Error(`${id} is ${status}, as all before it`)
  }
}

/** Waits until the message has this status. */
export async function becomes(caller: Caller, id: string, status: string, limitMs = 30_000): Promise<void> {
  await eventually(async () => (await statusOf(caller, id)) === status, `${id} becomes ${status}`, limitMs)
}
