// Loaded into a worker before anything else: notes when each of its requests leaves, which is when the HTTP client writes
// the head of it onto a connection. Lines `<epoch ms> <path>` in the file that PROVE_DEPARTURES names.
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { z } from 'zod'

const FLUSH_MS = 200

const left = z.object({ request: z.object({ path: z.string() }) })
const file = process.env.PROVE_DEPARTURES
const lines: string[] = []

function flush(): void {
  if (file !== undefined && lines.length > 0) appendFileSync(file, lines.splice(0).join(''))
}

subscribe('undici:client:sendHeaders', (message) => {
  // Not Date.now(), which clock-skew.ts may have set to another time.
  const at = performance.timeOrigin + performance.now()
  lines.push(`${at.toFixed(1)} ${left.parse(message).request.path}\n`)
})
setInterval(flush, FLUSH_MS).unref()
process.on('exit', flush)
