// Loaded into a process before anything else: its wall clock is off by PROVE_CLOCK_SKEW_MS, as of a machine without a
// time service. Timers and `performance.now()` go on as they do there.
const skewMs = Number(process.env.PROVE_CLOCK_SKEW_MS ?? 0)
const RealDate = Date
const realNow = Date.now

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[]) =>
    Reflect.construct(target, args.length === 0 ? [realNow() + skewMs] : args) as object,
})
Date.now = () => realNow() + skewMs
