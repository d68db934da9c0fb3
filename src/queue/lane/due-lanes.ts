// Which lanes the sweep must look at, and when. Code that gives a lane work does that first and marks the lane second;
// the sweep takes what is due and ends each look with the lane's next time, or with none when nothing is left in it. So
// the sweep costs what the lanes with work cost, however many others there are.
//
// A process that dies in between leaves the lane unmarked; it is found by the sweep's slow round over all lanes.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

const takeScript = defineScript(import.meta.url, 'due-lanes-take')
const settleScript = defineScript(import.meta.url, 'due-lanes-settle')
const takeReply = z.tuple([z.number()], z.coerce.number().int())

/** Lanes that the sweep has taken to look at. */
export interface DueLanes {
  /** When they are looked at again unless the look ends otherwise (epoch ms). */
  till: number
  lanes: number[]
}

/** The sweep looks at the lane at once. */
export async function markLane(redis: Redis, lane: number): Promise<void> {
  await redis.zadd(rootKeys.dueLanes, 'LT', 0, String(lane))
}

/** The same for a lane that nobody has marked. */
export async function markUnmarkedLane(redis: Redis, lane: number): Promise<void> {
  await redis.zadd(rootKeys.dueLanes, 'NX', 0, String(lane))
}

/** Takes at most `most` lanes that are due; each is due again after `againMs`, should this process die over them. */
export async function takeDueLanes(redis: Redis, againMs: number, most: number): Promise<DueLanes> {
  const reply = await takeScript(redis, { due: rootKeys.dueLanes }, { againMs, most })
  const [till, ...lanes] = takeReply.parse(reply)
  return { till, lanes }
}

/** Ends a look: each lane with its next time (epoch ms), or undefined when nothing is left in it. */
export async function settleDueLanes(
  redis: Redis,
  till: number,
  next: readonly { lane: number; atMs: number | undefined }[],
): Promise<void> {
  if (next.length === 0) return
  await settleScript(redis, { due: rootKeys.dueLanes }, { putOffTo: till, looks: next })
}
