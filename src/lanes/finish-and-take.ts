// Finishing jobs of a lane and taking the next ones: one step in Redis for all jobs that end in one turn of the event loop.
// BullMQ's own script, run once per job, took two thirds of what a message with a job of its own costs Redis. Where the
// process may die: before the step the finished jobs are still locked, after it the ones that were taken are. Either way
// they are found again once their locks have run out, as with BullMQ.
import { z } from 'zod'
import { gathered } from '../messages/store/gathered-steps.ts'
import { laneBacklogKeys, laneJobKey, laneLimiterKey, laneMetaKey, laneTakeKeys } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { defineScript } from '../redis/lua.ts'

const turnScript = defineScript(import.meta.url, 'lane-finish-and-take')

const reply = z.tuple([z.string(), z.enum(['none', 'limited', 'other', 'enough']), z.number()], z.unknown())
const takenReply = z.tuple([z.string(), z.string(), z.string(), z.coerce.number(), z.coerce.number()])

/** A job that was taken: its payload is JSON. */
export interface TakenJob {
  id: string
  name: string
  data: string
  /** When it was added (epoch ms). */
  addedAt: number
  /** Workers that died over it. */
  crashes: number
}

/** What comes after a job. */
export type Next =
  | { kind: 'job'; job: TakenJob }
  /** Nothing waits. `dueInMs`: until the next delayed job is due, 0 without one. */
  | { kind: 'none'; dueInMs: number }
  /** Nothing may be taken for so long. */
  | { kind: 'limited'; ms: number }
  /** Something waits that only BullMQ's own script can take. */
  | { kind: 'other' }

interface Finished {
  lane: number
  id: string
  token: string
  /** Whether the next job is to be taken, under the same token. */
  takes: boolean
  lockMs: number
}

/**
 * Finishes a job that was taken under `token` and removes it; with `takes` also takes the next one, under the same token,
 * for `lockMs`. `isLost`: its lock had run out, and somebody else has it now, or had; then none is taken. Rejects when
 * Redis is away.
 */
export const finishAndTake = (redis: Redis, one: Finished): Promise<{ isLost: boolean; next: Next }> =>
  together(redis, `${one.lane} ${one.lockMs}`, one)

const NOTHING: Next = { kind: 'none', dueInMs: 0 }

const together = gathered<Finished, { isLost: boolean; next: Next }>(async (redis, all) => {
  const [first] = all
  if (first === undefined) return []
  const { lane, lockMs } = first
  const answer = await turnScript(
    redis,
    { ...laneBacklogKeys(lane), ...laneTakeKeys(lane), limiter: laneLimiterKey(lane), meta: laneMetaKey(lane) },
    {
      jobs: laneJobKey(lane, ''),
      finished: all.map(({ id }) => id),
      tokens: all.map(({ token }) => token),
      takes: all.map(({ takes }) => takes),
      lockMs,
    },
  )
  const [letters, why, ms, ...taken] = reply.parse(answer)
  let at = 0
  return all.map(({ takes }, i) => {
    const isLost = letters[i] !== 'f'
    if (isLost || !takes) return { isLost, next: NOTHING }
    const job = taken[at++]
    return { isLost, next: job === undefined ? nextWithoutJob(why, ms) : { kind: 'job', job: takenJob(job) } }
  })
})

function takenJob(answered: unknown): TakenJob {
  const [id, name, data, addedAt, crashes] = takenReply.parse(answered)
  return { id, name, data, addedAt, crashes }
}

function nextWithoutJob(why: z.output<typeof reply>[1], ms: number): Next {
  switch (why) {
    case 'limited':
      return { kind: 'limited', ms }
    case 'none':
      return { kind: 'none', dueInMs: ms }
    default:
      return { kind: 'other' }
  }
}
