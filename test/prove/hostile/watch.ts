// Watches one process from outside while clients attack it: how long /healthz takes, how much memory it has, how many
// descriptors. In a process of its own, because the attackers are too busy to measure.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { z } from 'zod'

const seenSchema = z.object({
  /** The slowest answer of /healthz since the last look, in ms; a minute when one did not come. */
  slowestMs: z.number(),
  /** Most resident memory since the last look, in MB. */
  mostMb: z.number(),
  /** And now. */
  nowMb: z.number(),
  descriptors: z.number(),
  /** Answers of /healthz since the last look, and failures to get one. */
  answers: z.number(),
  failures: z.number(),
})
export type Seen = z.infer<typeof seenSchema>

export interface Watch {
  /** What was seen since the last look. */
  look(): Promise<Seen>
  stop(): void
}

const PROGRAM = `
const { request, Agent } = require('node:http')
const { readFileSync, readdirSync } = require('node:fs')
const [url, pid] = process.argv.slice(1)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
let slowestMs = 0, mostMb = 0, answers = 0, failures = 0, asked = 0
const memory = () => {
  try { return Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))?.[1] ?? 0) / 1024 } catch { return 0 }
}
const descriptors = () => { try { return readdirSync('/proc/' + pid + '/fd').length } catch { return 0 } }
const ask = () => {
  asked = performance.now()
  const done = (good) => {
    slowestMs = Math.max(slowestMs, performance.now() - asked)
    good ? answers++ : failures++
    setTimeout(ask, 10)
  }
  const asking = request(url + '/healthz', { agent, timeout: 60000 }, (answer) => answer.resume().on('end', () => done(answer.statusCode === 200)))
  asking.on('timeout', () => asking.destroy()).on('error', () => done(false)).end()
}
ask()
setInterval(() => { mostMb = Math.max(mostMb, memory()) }, 20)
require('node:readline').createInterface({ input: process.stdin }).on('line', () => {
  if (asked > 0) slowestMs = Math.max(slowestMs, answers + failures === 0 ? performance.now() - asked : 0)
  const nowMb = memory()
  console.log(JSON.stringify({ slowestMs, mostMb: Math.max(mostMb, nowMb), nowMb, descriptors: descriptors(), answers, failures }))
  slowestMs = 0; mostMb = 0; answers = 0; failures = 0
}).on('close', () => process.exit(0))
`

/** Begins to watch the process `pid` that serves `url`. Ends with the process that called it, however that ends. */
export function watchProcess(url: string, pid: number): Watch {
  const child = spawn(process.execPath, ['-e', PROGRAM, url, String(pid)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  return {
    async look() {
      const answer = once(lines, 'line')
      child.stdin.write('look\n')
      const [line] = await answer
      return seenSchema.parse(JSON.parse(String(line)))
    },
    stop: () => void child.stdin.end(),
  }
}
