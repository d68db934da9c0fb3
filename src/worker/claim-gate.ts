// Where messages of a fast lane wait in their worker until they may be claimed, instead of going back to the lane. Every
// answer of Redis waits until what came before it is on disk, 2 to 50 ms: a worker whose hands are empty fills them with
// one message per answer, and meanwhile slots pass unused. Waiting here writes nothing down; dying here is dying before
// the claim.
import type { Pace } from '../messages/pace.ts'
import type { ClaimResult } from '../messages/store/claim.ts'

type Class = keyof Pace['aheadUs']

interface Waiting {
  /** It goes back to its lane then (`performance.now()`). */
  until: number
  go: (mayPass: boolean) => void
}

/** A gate that is closed, or lets those that wait pass one after the other. */
interface Gate {
  /** Those that wait, the first of them first. */
  line: Waiting[]
  /** Nobody passes before (`performance.now()`). */
  opensAt: number
  gapMs: number
}

/**
 * Those that wait pass so many times as fast as the lane may send: a worker that is alone gets ahead of its slots again,
 * and of what is under way to Redis when a claim is refused little is refused as well.
 */
const FASTER = 1.25
/** Timers fire late; of what they have cost, so much is made up for at once. */
const MADE_UP_MS = 20
/** What a slow and a quick answer weigh in how long Redis takes, and the most that claims are ahead because of it. */
const WEIGHT = { slow: 1 / 8, quick: 1 / 64 }
const MOST_ANSWER_MS = 100

export type ClaimGates = ReturnType<typeof createClaimGates>

/** The gates of all lanes of this process, one for each class. All are open until a claim is refused. */
export function createClaimGates() {
  /** Those that are not open, by lane and class. */
  const gates = new Map<string, Gate>()
  /** How long Redis takes to answer a claim. */
  let answerMs = 0

  /**
   * Resolves when a message may be claimed, to false when it has waited for too long. One that was refused goes before
   * those that were not yet.
   */
  function pass(name: string, until: number, wasRefused: boolean): boolean | Promise<boolean> {
    const gate = gates.get(name)
    if (gate === undefined) return true
    return new Promise((go) => {
      if (wasRefused) gate.line.unshift({ until, go })
      else gate.line.push({ until, go })
    })
  }

  function close(name: string, gapMs: number, opensAt: number): void {
    const known = gates.get(name)
    if (known) {
      known.opensAt = Math.max(known.opensAt, opensAt)
      return
    }
    const gate = { line: [], opensAt, gapMs }
    gates.set(name, gate)
    letPass(name, gate)
  }

  function letPass(name: string, gate: Gate): void {
    const now = performance.now()
    // More workers than the lane keeps busy: what they have in hand must not wait there for seconds.
    while ((gate.line[0]?.until ?? now + 1) <= now) gate.line.shift()?.go(false)
    while (gate.opensAt <= now) {
      const next = gate.line.shift()
      if (next === undefined) {
        gates.delete(name)
        return
      }
      gate.opensAt = Math.max(gate.opensAt, now - MADE_UP_MS) + gate.gapMs / FASTER
      next.go(true)
    }
    setTimeout(letPass, Math.max(1, gate.opensAt - now), name, gate)
  }

  return {
    /**
     * Claims a message by `ask` when its lane has a slot for it; returns the answer and when it was asked for
     * (`performance.now()`). The answer is `too_early` when it was held for as long as the pace allows: on a slow lane at
     * once. The pace that `ask` gets lets claims be ahead by as much more as an answer takes, for meanwhile its slot
     * comes closer. Rejects when `ask` does.
     */
    async claim(
      lane: number,
      of: Class,
      pace: Pace,
      ask: (pace: Pace) => Promise<ClaimResult>,
    ): Promise<{ claimed: ClaimResult; askedAt: number }> {
      if (pace.heldMs === 0) return { askedAt: performance.now(), claimed: await ask(pace) }
      const name = `${lane}:${of}`
      const until = performance.now() + pace.heldMs
      for (let wasRefused = false; ; wasRefused = true) {
        const mayPass = await pass(name, until, wasRefused)
        const askedAt = performance.now()
        const { transactional, campaign } = pace.aheadUs
        const answerUs = answerMs * 1_000
        // The claims of a turn go together, under one pace for both classes.
        const asked = { ...pace, aheadUs: { transactional: transactional + answerUs, campaign: campaign + answerUs } }
        const aheadUs = asked.aheadUs[of]
        if (!mayPass)
          return { askedAt, claimed: { verdict: 'too_early', state: 'queued', waitMs: Math.ceil(aheadUs / 2_000) } }
        const claimed = await ask(asked)
        const answeredAt = performance.now()
        const more = Math.min(answeredAt - askedAt, MOST_ANSWER_MS) - answerMs
        answerMs += more * (more > 0 ? WEIGHT.slow : WEIGHT.quick)
        if (claimed.verdict !== 'too_early') return { askedAt, claimed }
        // The answer says when half of what may be ahead is free, which is for who goes back and is fetched again. A
        // third is enough when the next claim gets to Redis.
        const againMs = claimed.waitMs - aheadUs / 2_000 + aheadUs / 3_000 - answerMs / 2
        if (answeredAt + againMs > until) return { askedAt, claimed }
        close(name, pace.gapUs / 1_000, answeredAt + againMs)
      }
    },
  }
}
