// A chat product that answers as it is told, after as long as it is told: for answers that the simulator does not give.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createSeal } from '../../src/accounts/seal.ts'
import { secretKeysOf } from '../../src/accounts/secret-key.ts'
import { setSenderAccess } from '../../src/accounts/store/senders.ts'
import type { Service } from './service.ts'

/** What a request is answered; `call` counts them from 1. */
export type Answering = (call: number, to: string) => { status: number; body: string }

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
export async function startCloudStandIn(delayMs = 0) {
  const state: { answer: Answering; calls: { to: string; atMs: number }[] } = { answer: accepted, calls: [] }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const to = /"to":"\+(\d+)"/.exec(text)?.[1] ?? ''
    const call = state.calls.push({ to, atMs: performance.now() })
    const { status, body } = state.answer(call, to)
    setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(body), delayMs)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  const url = `http://127.0.0.1:${address.port}`
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
