// Pins: however the lanes of a full process look for room, wait for turns and are woken, none of it keeps the event loop of the process
// to itself. Their loops, limits and turns are real; what a step takes is made up.
import { expect, test } from 'vitest'
import { SharedMoments } from '../../src/kernel/shared-ticks.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { createInFlightLimits } from '../../src/worker/sending/in-flight-limit.ts'
import { serveSteps } from '../../src/worker/sending/lane-loop.ts'
import { LaneSignals } from '../../src/worker/sending/lane-signals.ts'
import { TakeTurns } from '../../src/worker/sending/take-turns.ts'

const FOR_MS = 1_500
const BACKLOG = 400
/** Thirty times what it came to in five runs, two of them beside four processes that compute: 145 to 169. */
const MOST_LOOKS = 5_000

/** The same numbers between 0 and 1 each time. */
function chances(seed: number): () => number {
  let state = seed * 7_919 + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Serves lanes with a backlog for a while. Returns how often they looked, at most, from one pause of a few milliseconds to the next. */
async function busiestTurn(seed: number): Promise<number> {
  const chance = chances(seed)
  const most = [50, 100, 300, 1_000][seed % 4] ?? 100
  const limits = createInFlightLimits(most)
  const [turns, moments] = [new TakeTurns(), new SharedMoments()]
  let [looks, busiest] = [0, 0]
  const inFlight: (() => void)[] = []

  function serve(signals: LaneSignals, i: number): void {
    const inFlightLimit = limits.add(signals.bell)
    const rate = [80, 1_000, 8][i % 3] ?? 80
    inFlightLimit.setPace(paceOf(rate))
    let [left, slotAt] = [BACKLOG, Number.NEGATIVE_INFINITY]
    void serveSteps({
      ...{ signals, turns, moments, inFlightLimit },
      latestSlotAt: () => slotAt,
      gapMs: () => {
        looks += 1
        busiest = Math.max(busiest, looks)
        // It would never end.
        if (looks >= MOST_LOOKS) for (const each of lanes) each.stop()
        return 1_000 / rate
      },
      take: async ({ most: asked }) => {
        inFlightLimit.beginRead(asked)
        if (chance() < 0.7) await pause(chance() * 4)
        const found = Math.min(left, asked)
        left -= found
        for (let k = 0; k < found; k += 1) {
          inFlightLimit.found()
          inFlight.push(() => {
            inFlightLimit.answered(chance() * 100)
            inFlightLimit.end()
            if (chance() < 0.2) signals.wake()
          })
        }
        slotAt = Math.max(performance.now(), slotAt) + (found * 1_000) / rate
        inFlightLimit.endRead()
        const heldMs = chance() < 0.05 ? 3 : undefined
        return { hasMore: left > 0, hasCampaign: false, heldMs, isPaused: false, dueInMs: undefined, isFull: true }
      },
      failed: (error) => {
        throw error
      },
    })
    signals.wake()
  }

  const lanes = Array.from({ length: 5 + Math.floor(chance() * 60) }, () => new LaneSignals())
  lanes.forEach(serve)
  const endAt = performance.now() + FOR_MS
  while (performance.now() < endAt && busiest < MOST_LOOKS) {
    await pause(chance() * 3)
    looks = 0
    for (const end of inFlight.splice(0, Math.floor(chance() * inFlight.length))) {
      end()
      if (chance() < 0.1) await Promise.resolve()
    }
    for (const signals of lanes) if (chance() < 0.05) signals.wake()
  }
  for (const signals of lanes) signals.stop()
  return busiest
}

test('lanes of a full process never keep its event loop to themselves', async () => {
  const busiest = await Promise.all(Array.from({ length: 40 }, (_, seed) => busiestTurn(seed)))
  expect(Math.max(...busiest)).toBeLessThan(MOST_LOOKS)
})
