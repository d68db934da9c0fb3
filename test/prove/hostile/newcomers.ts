// Those who come while somebody else holds all connections: another tenant, a probe, and WhatsApp with a webhook,
// each on a new connection.
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { percentile } from '../latency.ts'

export interface Newcomers {
  requests: number
  /** What came in place of a 200, by whom: `tenant: ECONNRESET`. */
  failures: Record<string, number>
  p99Ms: number
}

const WEBHOOK = '{"object":"whatsapp_business_account","entry":[]}'
/** They come from here, as nobody else does. */
const ADDRESS = '127.200.0.1'
/** Ends what hangs; how long an answer takes is measured. */
const LIMIT_MS = 120_000

/** Asks `rounds` times for each, one after the other, at most `perSecond` rounds a second. */
export async function askAsNewcomers(
  url: string,
  { apiKey, appSecret }: { apiKey: string; appSecret: string },
  { rounds, perSecond }: { rounds: number; perSecond: number },
): Promise<Newcomers> {
  const signature = `sha256=${createHmac('sha256', appSecret).update(WEBHOOK).digest('hex')}`
  const json = { 'content-type': 'application/json' }
  const all = {
    tenant: () => ask(`${url}/messages?limit=1`, { authorization: `Bearer ${apiKey}` }),
    probe: () => ask(`${url}/healthz`, {}),
    webhook: () => ask(`${url}/webhooks/cloud-api`, { ...json, 'x-hub-signature-256': signature }, WEBHOOK),
  }
  const times: number[] = []
  const failures: Record<string, number> = {}
  for (let round = 0; round < rounds; round += 1) {
    const beganRound = performance.now()
    for (const [who, asks] of Object.entries(all)) {
      const began = performance.now()
      const outcome = await asks()
      times.push(performance.now() - began)
      if (outcome === '200') continue
      const name = `${who}: ${outcome}`
      failures[name] = (failures[name] ?? 0) + 1
    }
    await pause(Math.max(0, 1_000 / perSecond - (performance.now() - beganRound)))
  }
  return { requests: times.length, failures, p99Ms: percentile(times, 99) }
}

/** The status, or the code of the error. */
const ask = (url: string, headers: Record<string, string>, body?: string): Promise<string> =>
  new Promise((resolve) => {
    const method = body === undefined ? 'GET' : 'POST'
    const asking = request(url, { method, headers, localAddress: ADDRESS, agent: false, timeout: LIMIT_MS })
    asking.on('response', (answer) => answer.resume().once('end', () => resolve(String(answer.statusCode))))
    asking.on('timeout', () => asking.destroy(new Error('no answer')))
    asking.on('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    asking.end(body)
  })
