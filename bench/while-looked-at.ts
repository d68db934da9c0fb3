// What looking costs: stretches in turn with nobody at the console and with each kind of onlookers, while all lanes send as
// fast as they can. The rate shows what is lost on this machine; the CPU time per message of producer, worker and Redis
// shows what of that is ours, for a rate with a browser on the same cores measures the browser.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from './bench.ts'
import { sinkHas } from './contender.ts'
import type { Laneway } from './laneway.ts'
import { nobody, type Onlookers } from './onlookers.ts'
import { cpuMs } from './process-usage.ts'
import { type Figure, withGoal } from './report.ts'
import { ratioOf, type Spread, spreadOf } from './statistics.ts'

/** A stretch is counted from here on: what a tab costs when it is opened is no matter of dispatch. */
const SETTLE_MS = 1_000
/** Rounds with --full; a difference of 2 % is less than one round varies by. */
const ROUNDS_FULL = 10
const MS = 1_000

interface Stretch {
  perSecond: number
  /** CPU time per message (µs) of producer, worker and Redis. */
  cpuUs: number
  /** What the onlookers took, in percent of a core. */
  theirs: number
}

/** Measures while `kinds` look, one kind after the other; `backlog` messages wait at first. */
export async function whileLookedAt(
  bench: Bench,
  laneway: Laneway,
  kinds: readonly Onlookers[],
  backlog: number,
): Promise<Figure[]> {
  const rounds = bench.full ? ROUNDS_FULL : bench.rounds
  const all = [nobody, ...kinds]
  const found = new Map(all.map(({ name }): [string, Stretch[]] => [name, []]))
  const begun = (await sinkHas(bench.rig, 0)).count
  let [before, most] = [begun, 0]
  for (let round = 0; round <= rounds; round += 1) {
    if (backlog - before < 1.5 * most) {
      bench.say(`console: ${round - 1} rounds instead of ${rounds}, since the backlog ends.`)
      break
    }
    // Who goes first changes: a backlog that shrinks is faster.
    for (let turn = 0; turn < all.length; turn += 1) {
      const who = all[(turn + round) % all.length] ?? nobody
      bench.progress(`looked at by ${who.name}, ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`)
      const stretch = await measure(bench, laneway, who)
      if (round > 0) found.get(who.name)?.push(stretch)
    }
    const now = (await sinkHas(bench.rig, 0)).count
    ;[most, before] = [Math.max(most, now - before), now]
  }
  return figuresOf(found, kinds)
}

async function measure(bench: Bench, { producer, sendPids }: Laneway, who: Onlookers): Promise<Stretch> {
  const pids = [producer.pid, ...sendPids]
  await who.open()
  await sleep(SETTLE_MS)
  const [count, cpu, theirs, at] = [(await sinkHas(bench.rig, 0)).count, cpuMs(pids), who.usedMs(), performance.now()]
  await sleep(bench.seconds * MS)
  const sent = (await sinkHas(bench.rig, 0)).count - count
  const ms = performance.now() - at
  const [used, usedByThem] = [cpuMs(pids) - cpu, who.usedMs() - theirs]
  await who.close()
  return { perSecond: (sent * MS) / ms, cpuUs: (used * MS) / sent, theirs: (usedByThem * 100) / ms }
}

function figuresOf(found: ReadonlyMap<string, readonly Stretch[]>, kinds: readonly Onlookers[]): Figure[] {
  const of = (name: string, what: keyof Stretch): number[] => (found.get(name) ?? []).map((stretch) => stretch[what])
  const figure = (what: string, unit: string, spread: Spread): Figure => ({
    scenario: 'console',
    what,
    value: spread.median,
    unit,
    spread,
  })
  const own = [...found.keys()].flatMap((name) => [
    figure(`sent, looked at by ${name}`, '/s', spreadOf(of(name, 'perSecond'))),
    figure(`CPU per message, looked at by ${name}`, 'us', spreadOf(of(name, 'cpuUs'))),
  ])
  const ratios = kinds.flatMap(({ name }, at) => {
    const [rate, cpu] = [
      ratioOf(of(name, 'perSecond'), of(nobody.name, 'perSecond')),
      ratioOf(of(name, 'cpuUs'), of(nobody.name, 'cpuUs')),
    ]
    const sent = figure(`sent, ${name} / nobody`, 'x', rate)
    return [
      // The first kind draws nothing: what it takes is what Laneway does for a reader.
      at === 0 ? withGoal(sent, '>= 0.98') : sent,
      figure(`CPU per message, ${name} / nobody`, 'x', cpu),
      figure(`${name}, CPU of their own, of one core`, '%', spreadOf(of(name, 'theirs'))),
    ]
  })
  return [...own, ...ratios]
}
