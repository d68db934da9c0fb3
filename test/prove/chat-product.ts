// The simulator of WhatsApp as a process, and what the proof asks of it: to misbehave, and for its ledger.
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { z } from 'zod'
import { getJson, postJson } from './http.ts'
import { createPart, type Part } from './part.ts'
import { eventually, TooSlow } from './wait.ts'

const ledgerLine = z.object({
  at_ms: z.number(),
  id: z.string(),
  opaque: z.string().nullable(),
  to: z.string(),
  sender: z.string().nullable(),
  media: z.array(z.string()).default([]),
})

/** One message that WhatsApp took. */
export interface Sent {
  atMs: number
  /** Digits of the recipient. */
  to: string
  /** Our message id, out of what the request carried along; undefined for a request that is not ours. */
  id: string | undefined
  /** Our attempt, where the request says which: on the Cloud API wire. */
  attempt: string | undefined
  /** WhatsApp's own id. */
  providerId: string
  /** What the request carried along: the opaque field or the Idempotency-Key. */
  opaque: string | null
  /** Phone number id that it was sent from, on the Cloud API wire. */
  sender: string | null
  /** Ids of uploads that it names. */
  media: readonly string[]
}

export interface ChatProduct extends Part {
  /** Our message ids travel in the opaque field on one wire and as Idempotency-Key on the other. */
  ledger(): Promise<Sent[]>
  count(): Promise<number>
  /** Resolves once it has taken so many messages: trouble that comes before anything flows proves nothing. */
  hasTaken(count: number, limitMs?: number): Promise<void>
  control(body: object): Promise<void>
  /** Status updates that are not delivered yet. */
  updatesWaiting(): Promise<number>
}

/** Only a service that sends nothing at all takes so long. */
const FLOW_LIMIT_MS = 300_000

const health = z.object({ accepted: z.number(), webhooks: z.object({ waiting: z.number() }) })

export function createChatProduct(options: {
  build: string
  folder: string
  logs: string
  env: Record<string, string>
  died: (how: string) => void
}): ChatProduct {
  const part = createPart({
    kind: 'simulator',
    name: 'simulator',
    build: options.build,
    logs: options.logs,
    died: options.died,
    env: { SIMULATOR_PORT: '0', SIMULATOR_LEDGER_FILE: join(options.folder, 'ledger.ndjson'), ...options.env },
  })
  const ask = async () => {
    const answer = await getJson(`${part.url}/_health`)
    if (answer.status !== 200) throw new Error(`the simulator does not answer: ${JSON.stringify(answer)}`)
    return health.parse(answer.body)
  }
  return Object.assign(part, {
    async ledger() {
      const answer = await fetch(`${part.url}/_ledger`)
      const ledger: Sent[] = []
      // Line by line: a million of them are no text that should be held whole.
      const lines = createInterface({ input: Readable.fromWeb(answer.body ?? new ReadableStream()) })
      for await (const line of lines) if (line !== '') ledger.push(readLine(JSON.parse(line)))
      return ledger
    },
    count: async () => (await ask()).accepted,
    async hasTaken(count: number, limitMs = FLOW_LIMIT_MS) {
      const came = await eventually(async () => (await ask()).accepted >= count, limitMs, 20)
      if (!came) throw new TooSlow(`WhatsApp has not taken ${count} messages in ${limitMs} ms`)
    },
    async control(body: object) {
      const answer = await postJson(`${part.url}/_control`, body)
      if (answer.status !== 200) throw new Error(`the simulator refused a control request: ${JSON.stringify(answer)}`)
    },
    updatesWaiting: async () => (await ask()).webhooks.waiting,
  })
}

function readLine(raw: unknown): Sent {
  const line = ledgerLine.parse(raw)
  const { opaque, to, sender, media } = line
  const [, id, attempt] = /(msg_\d+_[0-9A-Z]{26})(?:\.([0-9A-Z]+))?/.exec(opaque ?? '') ?? []
  return { atMs: line.at_ms, to, id, attempt, providerId: line.id, opaque, sender, media }
}
