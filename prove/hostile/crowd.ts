// A crowd of connections that do nothing good: they trickle, hold, or do not read, and come again when they are cut. In
// processes of their own, because whoever measures must not be kept busy by them.
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
})
export type CrowdCounts = z.infer<typeof countsSchema>

export interface Crowd {
  counts(): Promise<CrowdCounts>
  stop(): Promise<void>
}

/** Kinds of connections, each as many: see the program. */
const CROWD_KINDS = ['silent', 'headers', 'trickle', 'body', 'unread'] as const

const PROGRAM = `
const { connect } = require('node:net')
const [port, count, kinds] = process.argv.slice(1)
const kindsOf = kinds.split(',')
let open = 0, made = 0, cut = 0
const HEAD = 'POST /chatappbusiness/fetchmessageinfo HTTP/1.1\\r\\nhost: x\\r\\ncontent-type: application/json\\r\\n'
const join = (place) => {
  const kind = kindsOf[place % kindsOf.length]
  const socket = connect(Number(port), '127.0.0.1')
  let trickle
  socket.on('error', () => {})
  socket.once('connect', () => {
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
    // A long answer that nobody reads.
    if (kind === 'unread') { socket.pause(); socket.write('GET /openapi.json HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n') }
    else socket.resume()
  })
  socket.once('close', () => {
    clearInterval(trickle)
    if (socket.bytesWritten > 0 || socket.remoteAddress) cut += 1
    if (open > 0) open -= 1
    // Of 10,000, of which 2,000 may stand, that is 200 new connections a second: more would be a flood of connections.
    setTimeout(() => join(place), 20000 + (place * 7919) % 40000)
  })
}
// Not in one moment: that would be a flood of connections, which is another matter.
let next = 0
const joining = setInterval(() => {
  for (let n = 0; n < 25 && next < Number(count); n += 1) join(next++)
  if (next >= Number(count)) clearInterval(joining)
}, 25)
require('node:readline').createInterface({ input: process.stdin })
  .on('line', () => console.log(JSON.stringify({ open, made, cut })))
  .on('close', () => process.exit(0))
`

/** Sends `count` connections to the producer at `url`, in so many processes. They end with the process that called it. */
export function startCrowd(url: string, count: number, processes: number): Crowd {
  const { port } = new URL(url)
  const children = Array.from({ length: processes }, () => {
    const args = ['-e', PROGRAM, port, String(Math.ceil(count / processes)), CROWD_KINDS.join(',')]
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
      const sum = (name: keyof CrowdCounts): number => all.reduce((total, each) => total + each[name], 0)
      return { open: sum('open'), made: sum('made'), cut: sum('cut') }
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
