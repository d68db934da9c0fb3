// Loaded into a process before anything else: its wall clock is off by as many ms as the file that PROVE_CLOCK says, as of a
// machine without a time service, and it jumps when the file changes, as one does that is set. Timers and
// `performance.now()` go on as they do there.
import { existsSync, readFileSync } from 'node:fs'

const LOOK_MS = 20
const file = process.env.PROVE_CLOCK ?? ''
const read = (): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
const RealDate = Date
const realNow = Date.now
let skewMs = read()
setInterval(() => {
  skewMs = read()
}, LOOK_MS).unref()

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[]) =>
    Reflect.construct(target, args.length === 0 ? [realNow() + skewMs] : args) as object,
})
Date.now = () => realNow() + skewMs
