// A WhatsApp that answers as it is told, after as long as it is told: for answers that the simulator does not give.
import { createServer } from 'node:http'
import { setSenderAccess } from '../../src/accounts/senders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { listen } from '../testbed/free-port.ts'
import { startCampaigns } from './campaigns.ts'
import type { Service } from './service.ts'

/** What a request is answered; `call` counts them from 1, `template` is the name of the template that it sends. */
export type Answering = (call: number, to: string, template: string) => { status: number; body: string }

/** An answer with the envelope of the Graph API. */
export const graphError = (status: number, code: number, details = 'no') => ({
  status,
  body: JSON.stringify({ error: { message: `(#${code}) x`, type: 'OAuthException', code, error_data: { details } } }),
})

/** An acknowledgement. */
export const accepted = (call: number, to: string) => ({
  status: 200,
  body: JSON.stringify({
    messaging_product: 'whatsapp',
    contacts: [{ input: `+${to}`, wa_id: to }],
    messages: [{ id: `wamid.${call}` }],
  }),
})

/** Starts it; `calls` are the recipients of all requests so far, and when each came (`performance.now()`). */
async function startCloudStandIn(delayMs = 0) {
  const state: { answer: Answering; calls: { to: string; atMs: number }[] } = { answer: accepted, calls: [] }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const to = /"to":"\+(\d+)"/.exec(text)?.[1] ?? ''
    const call = state.calls.push({ to, atMs: performance.now() })
    const template = /"template":\{"name":"(\w+)"/.exec(text)?.[1] ?? ''
    const { status, body } = state.answer(call, to, template)
    setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(body), delayMs)
  })
  const port = await listen(server)
  const url = `http://127.0.0.1:${port}`
  return {
    ...{ state, url },
    /** A sender's messages come here from now on; workers know of it within 2 s. */
    async serve({ redis, config }: Service, lane: number): Promise<void> {
      const sealedToken = createSeal(secretKeysOf(config)).encrypt('token')
      await setSenderAccess(redis, lane, { baseUrl: url, sealedToken })
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** A service for campaign tests whose sender sends there, `rate` a second; answers come after `delayMs`. */
export async function startCampaignsOnStandIn({
  delayMs,
  rate = 80,
  env = {},
}: {
  delayMs: number
  rate?: number
  env?: Record<string, string>
}) {
  const service = await startCampaigns({ rate, env })
  const product = await startCloudStandIn(delayMs)
  await service.stopWorker()
  await product.serve(service, service.lane)
  await service.startWorker()
  return {
    service,
    product,
    /** Starts a campaign to so many people; its id. */
    async started(people: number): Promise<string> {
      const { tag } = await service.addPeople(people)
      const id = await service.ready({ tags: [tag] })
      await service.move(id, 'start')
      return id
    },
    /** It answers as it did at first, and knows of no calls. */
    reset(): void {
      product.state.calls.length = 0
      product.state.answer = accepted
    },
    async close(): Promise<void> {
      await service.close()
      product.close()
    },
  }
}
