// A producer in a process of its own, so that its memory and the turns of its event loop can be told from those of whoever
// attacks it. Anything that escapes a handler ends the process, which is a finding.
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { loadConfig } from '../../src/kernel/config.ts'
import { createLog } from '../../src/kernel/log.ts'
import { startProducer } from '../../src/producer/main.ts'

/** Between two looks; a turn of the loop is taken for longer by this at most. */
const LOOK_MS = 5
/** CPU time of the event loop's own thread: neighbours on the machine take a processor away for as long as they like. */
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`
const file = existsSync(SCHEDSTAT) ? openSync(SCHEDSTAT, 'r') : undefined
const digits = Buffer.alloc(64)

function spentMs(): number {
  if (file === undefined) return performance.now()
  return Number(digits.toString('latin1', 0, readSync(file, digits, 0, digits.length, 0)).split(' ')[0]) / 1e6
}

let longestMs = 0
let before = spentMs()
function look(): void {
  const now = spentMs()
  longestMs = Math.max(longestMs, now - before)
  before = now
  setTimeout(look, LOOK_MS)
}

const config = loadConfig()
const redisUrl = config.redisUrl
if (redisUrl === undefined) throw new Error('REDIS_URL is missing')
const producer = await startProducer(config, redisUrl, createLog(config, 'producer'))
look()

process.on('message', () => {
  // What is garbage is not kept.
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ longestMs, heldBytes: heapUsed + external })
  longestMs = 0
  // The collection is not the product's.
  before = spentMs()
})
process.on('disconnect', () => {
  if (file !== undefined) closeSync(file)
  process.exit(0)
})
process.send?.({ url: producer.url })
