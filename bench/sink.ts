// The provider's end of the bench, its own process: a minimal HTTP server that answers every request the way the Cloud
// API acknowledges a message. It counts, remembers when how many had come, and, when asked to, takes the latency from
// the stamp in a message's text (`at=<µs of the monotonic clock>`, which all processes of one machine share) and
// keeps our opaque ids, which the webhook scenario sends back.
import { createServer, type Socket } from 'node:net'
import type { z } from 'zod'
import { listen } from '../test/testbed/free-port.ts'
import { answerQuestions } from './child.ts'
import { messageReader } from './http-messages.ts'
import { type SinkReport, watchSchema } from './sink-contract.ts'

let watch: z.infer<typeof watchSchema> = { latency: false, opaque: false, arrivals: false }
const nothing = (): SinkReport => ({ count: 0, everyHundredthAtMs: [], latencies: [], opaque: [], arrivals: [] })
let report = nothing()
let since = performance.now()
let total = 0

const STAMP = Buffer.from('at=')
const OPAQUE = /"biz_opaque_callback_data":"([^"]+)"/

/** Base64 of three digits of hex, by their value: 18 of them are the message's own part of WhatsApp's id. */
const GROUPS = Array.from({ length: 4_096 }, (_, n) =>
  Buffer.from(n.toString(16).toUpperCase().padStart(3, '0')).toString('base64'),
)
/** Of any number, the digits that change from message to message are last. */
const FIRST_GROUPS = [0x826, 0xfd0, 0x49a].map((n) => GROUPS[n]).join('')

const hexInBase64 = (n: number): string =>
  `${FIRST_GROUPS}${GROUPS[(n >> 24) & 4_095]}${GROUPS[(n >> 12) & 4_095]}${GROUPS[n & 4_095]}`

/** Before the recipient, whom an answer echoes. */
const TO = '"to":"'

function answerTo(body: Buffer): string {
  total += 1
  report.count += 1
  if (report.count % 100 === 0) report.everyHundredthAtMs.push(performance.now() - since)
  if (watch.latency) {
    const nowUs = Number(process.hrtime.bigint() / 1_000n)
    const at = body.indexOf(STAMP)
    if (at >= 0) report.latencies.push((nowUs - Number.parseInt(body.toString('latin1', at + 3, at + 20), 10)) / 1_000)
  }
  if (watch.arrivals) report.arrivals.push(Date.now())
  if (watch.opaque) {
    const opaque = OPAQUE.exec(body.toString('latin1'))?.[1]
    if (opaque !== undefined) report.opaque.push(opaque)
  }
  const id = `wamid.HBgMNDkxNzAwMDAwMDAwFQIAERgS${hexInBase64(total)}AA==`
  const from = body.indexOf(TO) + TO.length
  const to = body.toString('latin1', from, body.indexOf('"', from))
  const json = `{"messaging_product":"whatsapp","contacts":[{"input":"${to}","wa_id":"${to}"}],"messages":[{"id":"${id}"}]}`
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`
}

const server = createServer({ noDelay: true }, (socket: Socket) => {
  socket.on(
    'data',
    messageReader((_head, body) => socket.write(answerTo(body), 'latin1')),
  )
  socket.on('error', () => socket.destroy())
})
const port = await listen(server)

answerQuestions({
  port: async () => port,
  /** Starts a new count. */
  watch: async (detail) => {
    watch = watchSchema.parse(detail)
    report = nothing()
    since = performance.now()
  },
  count: async () => report.count,
  report: async () => report,
  /** Since the process began. */
  total: async () => total,
})
