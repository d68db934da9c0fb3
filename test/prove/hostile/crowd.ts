// A crowd of connections that do nothing good: they trickle, hold, or do not read, and come again when they are cut. In
// processes of their own, because the process that measures must not be kept busy by them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { z } from 'zod'

const countsSchema = z.object({
  /** Connections that stand now. */
  open: z.number(),
  /** Connections that were made, and that were cut. */
  made: z.number(),
  cut: z.number(),
  /** Answers that came, by status. */
  answers: z.record(z.string(), z.number()),
})
export type CrowdCounts = z.infer<typeof countsSchema>

export interface Crowd {
  counts(): Promise<CrowdCounts>
  stop(): Promise<void>
}

/** Kinds of connections, each as many: see the program. */
const CROWD_KINDS = ['silent', 'headers', 'trickle', 'body', 'unread'] as const
/** Kinds that show a key: a lookup now and then on a connection that is kept, and a batch whose body never comes. */
export type KeyedKind = 'lookups' | 'batches'

/** What the crowd does and from where. */
interface CrowdPlan {
  kinds: readonly string[]
  /** Its connections take turns in using them. */
  keys: readonly string[]
  /** Loopback addresses that its connections come from. */
  addresses: number
  /** A connection that was cut comes again after this, at the earliest and at the latest (ms). */
  again: readonly [number, number]
  /** A kept connection looks something up this often (ms). */
  everyMs: number
  /** New connections in each 25 ms. */
  atOnce: number
}

const PROGRAM = `
const { connect } = require('node:net')
const [port, count, first, json] = process.argv.slice(1)
const { kinds, keys, addresses, again, everyMs, atOnce } = JSON.parse(json)
let open = 0, made = 0, cut = 0
const answers = {}
const HEAD = 'POST /chatappbusiness/fetchmessageinfo HTTP/1.1\\r\\nhost: x\\r\\ncontent-type: application/json\\r\\n'
const join = (place) => {
  const kind = kinds[place % kinds.length]
  const bearer = 'host: x\\r\\nauthorization: Bearer ' + keys[place % keys.length] + '\\r\\n'
  const at = place % addresses
  const localAddress = '127.' + (1 + (at >> 16)) + '.' + ((at >> 8) & 255) + '.' + (1 + (at & 255) % 254)
  const socket = connect({ port: Number(port), host: '127.0.0.1', ...(addresses > 1 && { localAddress }) })
  let trickle, isOpen = false
  socket.on('error', () => {})
  socket.once('connect', () => {
    isOpen = true
    open += 1
    made += 1
    if (kind === 'headers') socket.write('GET /healthz HTTP/1.1\\r\\nhost: x\\r\\nx-half: ')
    if (kind === 'trickle') {
      socket.write('GET /healthz HTTP/1.1\\r\\nhost: x\\r\\nx-slow: ')
      trickle = setInterval(() => socket.write('y'), 2000)
    }
    if (kind === 'body') {
      socket.write(HEAD + 'content-length: 200000\\r\\n\\r\\n{"api_key":"')
      trickle = setInterval(() => socket.write('z'), 2000)
    }
    if (kind === 'lookups') {
      const look = () => socket.write('GET /messages?limit=1 HTTP/1.1\\r\\n' + bearer + '\\r\\n')
      look()
      trickle = setInterval(look, everyMs)
    }
    if (kind === 'batches') {
      socket.write('POST /messages/batch HTTP/1.1\\r\\ncontent-type: application/json\\r\\ncontent-length: 500000\\r\\n' + bearer + '\\r\\n')
    }
    // A long answer that nobody reads.
    if (kind === 'unread') { socket.pause(); socket.write('GET /openapi.json HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n') }
    else socket.setEncoding('latin1').on('data', (text) => {
      for (const [, status] of text.matchAll(/HTTP\\/1\\.1 (\\d{3})/g)) answers[status] = (answers[status] ?? 0) + 1
    })
  })
  socket.once('close', () => {
    clearInterval(trickle)
    if (isOpen) { cut += 1; open -= 1 }
    setTimeout(() => join(place), again[0] + (place * 7919) % (again[1] - again[0] + 1))
  })
}
// Not in one moment: that would be a flood of connections, which is another matter.
let next = Number(first)
const end = next + Number(count)
const joining = setInterval(() => {
  for (let n = 0; n < atOnce && next < end; n += 1) join(next++)
  if (next >= end) clearInterval(joining)
}, 25)
require('node:readline').createInterface({ input: process.stdin })
  .on('line', () => console.log(JSON.stringify({ open, made, cut, answers })))
  .on('close', () => process.exit(0))
`

/** Sends `count` connections to the producer at `url`, in so many processes. They end with the process that called it. */
export function startCrowd(url: string, count: number, processes: number): Crowd {
  // Of 10,000 connections, where 2,000 may be open, that is 200 new connections a second: more would be a flood of connections.
  const plan = {
    kinds: CROWD_KINDS,
    keys: [''],
    addresses: 1,
    again: [20_000, 60_000],
    everyMs: 0,
    atOnce: 25,
  } as const
  return start(url, count, processes, plan)
}

/** Sends connections that show one of the keys, and that come again soon when they are cut. */
export function startKeyedCrowd(
  url: string,
  count: number,
  plan: { kind: KeyedKind; keys: readonly string[]; addresses: number; everyMs: number },
): Crowd {
  return start(url, count, 1, { ...plan, kinds: [plan.kind], again: [1_000, 3_000], atOnce: 50 })
}

function start(url: string, count: number, processes: number, plan: CrowdPlan): Crowd {
  const { port } = new URL(url)
  const each = Math.ceil(count / processes)
  const children = Array.from({ length: processes }, (_, n) => {
    const args = ['-e', PROGRAM, port, String(each), String(n * each), JSON.stringify(plan)]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    return { child, lines: createInterface({ input: child.stdout }) }
  })
  return {
    async counts() {
      const all = await Promise.all(
        children.map(async ({ child, lines }) => {
          const answer = once(lines, 'line')
          child.stdin.write('counts\n')
          const [line] = await answer
          return countsSchema.parse(JSON.parse(String(line)))
        }),
      )
      const sum = (name: 'open' | 'made' | 'cut'): number => all.reduce((total, one) => total + one[name], 0)
      const answers: Record<string, number> = {}
      for (const one of all) {
        for (const [status, times] of Object.entries(one.answers)) answers[status] = (answers[status] ?? 0) + times
      }
      return { open: sum('open'), made: sum('made'), cut: sum('cut'), answers }
    },
    async stop() {
      await Promise.all(children.map(({ child }) => ended(child)))
    },
  }
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.stdin?.end()
  await exit
}
