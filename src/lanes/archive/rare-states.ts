// Finds messages in rare states from the lists that the steps and BullMQ keep of them anyway. A search through the index
// would read a million to find three.
import { z } from 'zod'
import { ID_BYTES, packUlid, parseMessageId } from '../../kernel/message-id.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { inDoubtKey, queuedAgainKey, requeueableKey } from '../../redis/keys.ts'
import { laneBacklogKeys, laneDeadLettersKey } from '../bullmq/layout.ts'
import type { Entry, Source } from './entries.ts'

/** More than this are not few: reading them all takes longer than the search through the index. */
const FEW = 20_000

/** A list of a lane, and how its members are read. */
type List = readonly [kind: 'zset' | 'list', key: string]

/** The lists of a lane that hold every message of a state, among others; undefined for states without. */
function listsOf(lane: number, state: State): List[] | undefined {
  const { waiting, prioritized, delayed, active } = laneBacklogKeys(lane)
  const queued: List[] = [
    ['zset', queuedAgainKey(lane)],
    ['list', waiting],
    ['zset', prioritized],
    ['zset', delayed],
    ['list', active],
  ]
  switch (state) {
    case 'queued':
      return queued
    case 'expired':
      return [['zset', requeueableKey(lane)], ...queued]
    case 'failed':
      return [
        ['zset', requeueableKey(lane)],
        ['zset', laneDeadLettersKey(lane)],
      ]
    case 'cancelled':
    case 'unknown':
      return [['zset', requeueableKey(lane)]]
    case 'sending':
    case 'unconfirmed':
      return [['zset', inDoubtKey(lane)]]
    default:
      return undefined
  }
}

/** The lists of a lane that hold every message with a problem: what was sent has none, nor what was never tried. */
const listsOfProblems = (lane: number): List[] => [
  ['zset', requeueableKey(lane)],
  ['zset', laneDeadLettersKey(lane)],
  ['zset', inDoubtKey(lane)],
  ['zset', queuedAgainKey(lane)],
]

/**
 * A source per lane that has every message that the filter's state or code allows; undefined when there are no such lists,
 * or when they hold too many. The lists of a lane are read in one step, so that nothing moves between two of them meanwhile.
 */
export async function rareSources(
  redis: Redis,
  lanes: readonly number[],
  { state, code }: { state?: State | undefined; code?: string | undefined },
  top: string,
): Promise<Source[] | undefined> {
  const asked = lanes.flatMap((lane) => {
    const lists = (state && listsOf(lane, state)) ?? (code === undefined ? undefined : listsOfProblems(lane))
    return lists ? [{ lane, lists }] : []
  })
  if (asked.length < lanes.length) return undefined
  const counts = await Promise.all(
    asked.flatMap(({ lists }) => lists.map(([kind, key]) => (kind === 'zset' ? redis.zcard(key) : redis.llen(key)))),
  )
  if (counts.reduce((sum, count) => sum + count, 0) > FEW) return undefined
  return asked.map(({ lane, lists }) => {
    const source: Source = {
      bound: top,
      async read() {
        source.bound = undefined
        return (await membersOf(redis, lists)).flatMap((name): Entry[] => {
          const ulid = name.length === 26 ? name : parseMessageId(name)?.ulid
          if (ulid === undefined) return []
          const bytes = Buffer.alloc(ID_BYTES)
          packUlid(ulid, bytes, 0)
          return [{ lane, key: bytes.toString('latin1') }]
        })
      },
    }
    return source
  })
}

const members = z.array(z.string())

async function membersOf(redis: Redis, lists: readonly List[]): Promise<string[]> {
  const reading = redis.multi()
  for (const [kind, key] of lists) {
    if (kind === 'zset') reading.zrange(key, '0', '-1')
    else reading.lrange(key, 0, -1)
  }
  const replies = (await reading.exec()) ?? []
  return replies.flatMap(([error, found]) => {
    if (error) throw error
    return members.parse(found)
  })
}
