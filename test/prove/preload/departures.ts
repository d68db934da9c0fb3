// Loaded into a worker before anything else: notes when each of its requests leaves, which is when it is written
// onto a connection. Lines `<epoch ms> <path>` in the file that PROVE_DEPARTURES names, and
// `<epoch ms> held <ms>` for each time that the machine did not let the worker run for so long.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { z } from 'zod'

const FLUSH_MS = 200
const LOOK_MS = 10
/** A worker that was not let run for longer than this may have missed slots. */
const HELD_MS = 30

const left = z.object({ path: z.string() })
const file = process.env.PROVE_DEPARTURES
const lines: string[] = []

function flush(): void {
  if (file !== undefined && lines.length > 0) appendFileSync(file, lines.splice(0).join(''))
}

// Not Date.now(), which clock-skew.ts may have set to another time.
const nowMs = (): number => performance.timeOrigin + performance.now()

subscribe('laneway:departure', (message) => {
  lines.push(`${nowMs().toFixed(1)} ${left.parse(message).path}\n`)
})
let lookedAt = nowMs()
setInterval(() => {
  const now = nowMs()
  if (now - lookedAt > HELD_MS) lines.push(`${now.toFixed(1)} held ${(now - lookedAt).toFixed(1)}\n`)
  lookedAt = now
}, LOOK_MS).unref()
setInterval(flush, FLUSH_MS).unref()
process.on('exit', flush)
