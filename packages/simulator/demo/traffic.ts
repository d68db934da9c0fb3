// Made-up traffic for the demo: messages of which some fail, are throttled or stay without an answer, and a campaign, so
// that every chart, reason and action of the console can be tried in a minute. It goes through the public addresses, as
// that of an application does, and ends by itself. Never in production: only the demo makes one.
import { z } from 'zod'
import type { Log } from '../../../src/kernel/log.ts'
import { repeatedly } from '../../../src/kernel/repeatedly.ts'

/** Long enough to look around, short enough to be forgotten. */
const RUNS_MS = 5 * 60_000
const EVERY_MS = 1_000
/** Messages a second; more once in a while, so that something waits. */
const A_SECOND = 25
const RUSH_EVERY = 20
const RUSH = 400
/** Of so many messages, one goes to a number that the simulator treats badly. */
const BAD_ONE_IN = 25
/** Seconds between two refusals of the simulator for being too fast. */
const THROTTLE_EVERY = 30
const CAMPAIGN_RECIPIENTS = 3_000
const ANSWER_MS = 10_000

/** See docs/guides/simulator.md: refused, accepted and failed later, or cut off without an answer. */
const BAD_NUMBERS = ['0101', '0102', '0105', '0201', '0201', '0202', '0206', '0207', '0304']

/** Where the traffic goes. */
export interface Target {
  baseUrl: string
  simulatorUrl: string
  /** A key with `messages:send` and `messages:read`. */
  apiKey: string
  /** Sends the campaign. */
  campaignSender: string
}

export type DemoTraffic = ReturnType<typeof createDemoTraffic>

/** Traffic that does not run, and cannot until `aim` has set its target. `runsMs`: it ends by itself after so long. */
export function createDemoTraffic(log: Log, runsMs = RUNS_MS) {
  let target: Target | undefined
  let running: { stop: () => void } | undefined

  function start(): void {
    if (target === undefined || running) return
    const to = target
    let seconds = 0
    const sending = repeatedly(EVERY_MS, () => sendSome(to, seconds++), log)
    const ending = setTimeout(stop, runsMs).unref()
    running = {
      stop() {
        sending.stop()
        clearTimeout(ending)
      },
    }
    startCampaign(to).catch((error: unknown) => log.warn({ err: error }, 'demo.campaign_failed'))
    log.info({ seconds: runsMs / 1_000 }, 'demo.traffic_started')
  }

  function stop(): void {
    if (!running) return
    running.stop()
    running = undefined
    log.info('demo.traffic_ended')
  }

  return {
    /** From now on it can run. */
    aim: (at: Target): void => {
      target = at
    },
    isAvailable: (): boolean => target !== undefined,
    isRunning: (): boolean => running !== undefined,
    start,
    stop,
  }
}

async function sendSome({ baseUrl, simulatorUrl, apiKey }: Target, second: number): Promise<void> {
  if (second % THROTTLE_EVERY === THROTTLE_EVERY / 2) {
    await post(`${simulatorUrl}/_control`, { behaviour: 'rate-limited', count: 3 })
  }
  const count = second % RUSH_EVERY === RUSH_EVERY - 1 ? RUSH : A_SECOND
  const messages = Array.from({ length: count }, (_, i) => messageTo(recipientOf(second * A_SECOND + i), i))
  await post(`${baseUrl}/messages/batch`, { messages }, apiKey)
}

/** One of 7,000 numbers that are kept free for fiction, or now and then one that misbehaves. */
function recipientOf(turn: number): string {
  const bad = BAD_NUMBERS[Math.floor(turn / BAD_ONE_IN) % BAD_NUMBERS.length] ?? ''
  return turn % BAD_ONE_IN === 0 ? `+1555010${bad}` : `+1555010${2_000 + ((turn * 7) % 7_000)}`
}

const messageTo = (to: string, i: number): object => ({
  ...{ to, messaging_product: 'chatapp', recipient_type: 'individual', type: 'image' },
  image: { link: 'https://shop.example/spring.png', caption: `Your order A-${1_000 + i} is on its way` },
})

const made = z.object({ data: z.object({ id: z.string() }) })
const found = z.object({ data: z.object({ state: z.string() }) })

/** Creates a campaign of a file with some rows that its preflight refuses, and starts it. */
async function startCampaign({ baseUrl, apiKey, campaignSender }: Target): Promise<void> {
  const { id } = made.parse(await post(`${baseUrl}/campaigns`, definitionOf(campaignSender), apiKey)).data
  const rows = ['phone,name', ...Array.from({ length: CAMPAIGN_RECIPIENTS }, (_, i) => rowOf(i)), 'none,Nobody']
  await call(`${baseUrl}/campaigns/${id}/rows`, apiKey, 'text/csv', `${rows.join('\n')}\n`)
  await post(`${baseUrl}/campaigns/${id}/preflight`, {}, apiKey)
  const endsAt = performance.now() + ANSWER_MS
  for (let state = 'checking'; state === 'checking' && performance.now() < endsAt; ) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    state = found.parse(await get(`${baseUrl}/campaigns/${id}`, apiKey)).data.state
  }
  await post(`${baseUrl}/campaigns/${id}/start`, {}, apiKey)
}

const definitionOf = (sender: string): object => ({
  name: `Spring sale (made up at ${new Date().toISOString().slice(11, 19)} UTC)`,
  sender,
  template: {
    name: 'flash_sale',
    language: { code: 'en_US' },
    components: [
      { type: 'HEADER', parameters: [{ type: 'image', image: { link: 'https://shop.example/spring.png' } }] },
      { type: 'BODY', parameters: [{ type: 'text', text: '20 %' }] },
      { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [{ type: 'text', text: { from: 'row.name' } }] },
      {
        type: 'BUTTON',
        sub_type: 'COPY_CODE',
        index: '1',
        parameters: [{ type: 'coupon_code', coupon_code: 'SAVE20' }],
      },
    ],
  },
  recipients: { rows: { phone: 'phone' } },
})

/** Every hundredth appears twice, and the first few misbehave. */
const rowOf = (i: number): string => {
  const bad = [...new Set(BAD_NUMBERS)][i]
  return `+1555010${bad ?? 3_000 + (i % 100 === 0 ? i - 1 : i)},P${i}`
}

const post = (url: string, body: object, key?: string): Promise<unknown> =>
  call(url, key, 'application/json', JSON.stringify(body))

async function get(url: string, key: string): Promise<unknown> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  return (await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal })).json()
}

async function call(url: string, key: string | undefined, type: string, body: string): Promise<unknown> {
  const headers = { 'content-type': type, ...(key !== undefined && { authorization: `Bearer ${key}` }) }
  const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_MS) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${new URL(url).pathname}: ${answer.status} ${text.slice(0, 200)}`)
  return text === '' ? {} : JSON.parse(text)
}
