// Each safeguard of Laneway is taken away once, and the scenario that holds it must then lose or double messages: a
// scenario that passes without the safeguard would prove nothing.
import { join } from 'node:path'
import { type Alteration, alteredBuild } from '../testbed/altered-build.ts'
import type { Judgement } from './checker.ts'
import { STILL_MS } from './quiescence.ts'
import type { Scenario } from './scenario.ts'
import { backlogResumes } from './scenarios/backlog-resumes.ts'
import { halfOpenRedis } from './scenarios/half-open-redis.ts'
import { idempotencyRace } from './scenarios/idempotency-race.ts'
import { redisRefuses } from './scenarios/redis-refuses.ts'
import { workerKills } from './scenarios/worker-kill.ts'

interface Safeguard {
  name: string
  /** What it does. */
  is: string
  guardedBy: Scenario
  removedBy: readonly Alteration[]
}

const [workerKill] = workerKills
if (!workerKill) throw new Error('no scenario kills workers')

const [refusesWrites] = redisRefuses
if (!refusesWrites) throw new Error('no scenario has Redis refuse')

const ALL: readonly Safeguard[] = [
  {
    name: 'without-marker',
    is: 'a message is sent only when its claim was written down before',
    guardedBy: workerKill,
    // It is claimed when its request has come to an end.
    removedBy: [
      {
        file: 'worker/sending/take.js',
        find: 'claimMessages(redis, claims, terms)',
        replace: `Promise.resolve(claims.map((each) => {
          const late = () => claimMessages(redis, [each], terms)
          ;(deps.claims ??= new Map()).set(each.attempt, late)
          return { verdict: 'done', state: 'sending', slot: { name: '', atMs: Date.now(), nowMs: Date.now() } }
        }))`,
      },
      {
        file: 'worker/sending/attempt.js',
        find: 'const outcome = outcomeOf(end)',
        replace: `await deps.claims.get(message.attempt)?.()
        const outcome = outcomeOf(end)`,
      },
    ],
  },
  {
    name: 'without-fencing',
    is: 'a message that another attempt has claimed is not claimed again',
    guardedBy: backlogResumes,
    removedBy: [
      {
        file: 'lanes/messages/scripts/message-lifecycle.lua',
        find: "if p.attempt == e.attempt then return 'done' end",
        replace: "do return 'done' end",
      },
    ],
  },
  {
    // That the id of a message is the id of its job as well only saves work: of two jobs one finds the claim of the other.
    name: 'without-one-id',
    is: 'of many requests with one Idempotency-Key, all take the id of the first',
    guardedBy: idempotencyRace,
    removedBy: [{ file: 'redis/idempotency.js', find: 'earlier ?? value', replace: 'value' }],
  },
  {
    name: 'without-sweep',
    is: 'every worker looks for work that nobody told it about',
    guardedBy: backlogResumes,
    removedBy: [{ file: 'worker/recovery/sweeper.js', find: '? sweep.sweep() :', replace: '? undefined :' }],
  },
  {
    name: 'without-writing-again',
    is: 'what became of a message is written down again and again until Redis takes it',
    guardedBy: refusesWrites,
    removedBy: [{ file: 'worker/sending/until-written.js', find: '!isRedisAway(error) ||', replace: 'true ||' }],
  },
  {
    name: 'without-resend',
    is: 'a worker sends commands again that Redis had no time to answer',
    guardedBy: halfOpenRedis,
    removedBy: [
      {
        file: 'redis/connect.js',
        find: 'maxRetriesPerRequest: null,',
        replace: 'maxRetriesPerRequest: null, autoResendUnfulfilledCommands: false,',
      },
    ],
  },
]

/** Messages lost, and messages sent twice where nothing can have earned a flag for it. */
export const harm = (judgement: Judgement): number =>
  judgement.lostSilently.length + (judgement.unearned ? judgement.sentTwice : judgement.sentTwiceSilently).length

/** What takes each safeguard away, by the name of its scenario. */
export const ALTERATIONS: readonly [name: string, alteration: Alteration][] = ALL.flatMap(({ name, removedBy }) =>
  removedBy.map((each): [string, Alteration] => [name, each]),
)

/** A build that sends hardly anything loses messages for another reason than the missing safeguard. */
const LEAST_SENT = 0.05

/** A scenario for each safeguard that keeps its promise when the guarding scenario does not keep its own. */
export const SAFEGUARDS: readonly Scenario[] = ALL.map(({ name, is, guardedBy, removedBy }) => ({
  name,
  promise: `${guardedBy.name} loses or doubles messages without this: ${is}.`,
  safeguard: true,
  async run(run) {
    const build = alteredBuild(run.build, join(run.folder, 'dist'), ...removedBy)
    const end = await guardedBy.run({ ...run, build, full: false, stillMs: STILL_MS, late: () => {} })
    if ('skipped' in end) return end
    const { accepted, inLedger } = end.judgement
    const figures = [
      { what: 'lost or sent twice without it', value: harm(end.judgement), unit: 'messages', atLeast: 1 },
      { what: 'sent at all', value: inLedger, unit: 'messages', atLeast: Math.max(1, LEAST_SENT * accepted) },
    ]
    return { judgement: { ...end.judgement, violations: [] }, figures }
  },
}))
