// WhatsApp has rules that nobody tells beforehand: who has had enough marketing, what it holds to see how people like it, how
// many people a portfolio may write to in a day, what people block. Worlds are drawn from the seed and played side by side,
// each with a campaign and with codes of another number of the same portfolio, while workers are killed.
import { join } from 'node:path'
import { alteredBuild } from '../../testbed/altered-build.ts'
import { figuresOf, judgeMessages, type Played } from '../physics/judge-worlds.ts'
import { playRound, type Round } from '../physics/play-round.ts'
import { DAY_MS } from '../physics/worlds.ts'
import type { Scenario } from '../scenario.ts'

const SMALL: Round = {
  good: { calm: 2, blind: 2, held: 2 },
  bad: { capped: 2, dropped: 1, crowded: 2, disliked: 1, held_back: 1, raised: 1 },
}
/** 20 worlds, besides those that are fed blindly. */
const LARGE: Round = {
  good: { calm: 3, blind: 3, held: 3 },
  bad: { capped: 4, dropped: 3, crowded: 3, disliked: 2, held_back: 1, raised: 1 },
}
const LARGE_ROUNDS = 10

/** Messages that all lanes of a worker have in flight; each may be flagged when it is killed. */
const IN_FLIGHT = 60
/** Places for held messages: of a campaign of 1,500 people a third of what may be lost. */
const MOST_HELD = 5
const ENV = {
  LANEWAY_CAP_SECONDS: String(DAY_MS / 1_000),
  LANEWAY_MOST_HELD: String(MOST_HELD),
  LANEWAY_MAX_IN_FLIGHT: String(IN_FLIGHT),
}

/** A request leaves within 5 s of when its person is counted; the product adds to its day what covers that. */
const SLACK_MS = 6_000
const PERIOD_MS = 10
const BUDGET = 'portfolios/scripts/rules-budget.lua'
/** The product's own day, as short as that of the worlds. */
const SHORT_DAY = [
  {
    file: BUDGET,
    find: 'local PERIOD_MS, LIVE, RING, BYTES, WRAP = 10000, 8642,',
    replace: `local PERIOD_MS, LIVE, RING, BYTES, WRAP = ${PERIOD_MS}, ${(DAY_MS + SLACK_MS) / PERIOD_MS},`,
  },
  // What waits for a place or for the budget asks more often, since hours are seconds.
  {
    file: 'portfolios/scripts/rules-check.lua',
    find: 'now + (inFlight > 0 and 1000 or 10000)',
    replace: 'now + 250',
  },
  { file: 'worker/sending/provider-rules.js', find: 'MOST_REST_MS = 10_000', replace: 'MOST_REST_MS = 1_000' },
  { file: BUDGET, find: 'local KEPT_MS = 25 * 3600 * 1000', replace: `local KEPT_MS = ${9_000 * PERIOD_MS}` },
]

export const providerPhysics: Scenario = {
  name: 'provider-physics',
  promise: 'Rules of WhatsApp that nobody tells are kept, and cost next to nothing, while workers are killed.',
  async run(run) {
    const build = alteredBuild(run.build, join(run.folder, 'dist'), ...SHORT_DAY)
    const rounds = run.full ? Array.from({ length: LARGE_ROUNDS }, () => LARGE) : [SMALL]
    const played: Awaited<ReturnType<typeof playRound>>[] = []
    for (const [number, round] of rounds.entries()) {
      const folder = join(run.folder, `round-${number + 1}`)
      const one = await playRound({ ...run, build, folder }, number, round, { env: ENV, flags: IN_FLIGHT })
      played.push(one)
      const broken = [...one.seen.flatMap(({ violations }) => violations), ...judgeMessages(one).violations]
      run.say(`round ${number + 1} of ${rounds.length}: ${broken.join('; ') || 'every message and figure is right'}`)
      const soFar = figuresOf(together(played), run).map(
        ({ what, value, unit }) => `${what} ${value.toFixed(2)} ${unit}`,
      )
      run.say(`so far: ${soFar.join('; ')}`)
    }
    const all = together(played)
    const kills = played.reduce((sum, each) => sum + each.kills, 0)
    return {
      judgement: judgeMessages(all),
      figures: [...figuresOf(all, run), { what: 'kills of workers', value: kills, unit: '', atLeast: 1 }],
      violations: played.flatMap(({ seen, deaths }) => [...seen.flatMap(({ violations }) => violations), ...deaths]),
    }
  },
}

const together = (played: readonly Played[]): Played => ({
  seen: played.flatMap(({ seen }) => seen),
  ledger: played.flatMap(({ ledger }) => ledger),
  physics: played.flatMap(({ physics }) => physics),
  codeStates: new Map(played.flatMap(({ codeStates }) => [...codeStates])),
  flagsEarned: played.reduce((sum, { flagsEarned }) => sum + flagsEarned, 0),
})
