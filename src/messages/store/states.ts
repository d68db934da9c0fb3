// The states of many messages of one lane in one round trip.
import { z } from 'zod'

import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import type { State } from '../lifecycle.ts'
import { shownState } from '../shown-state.ts'
import { FIELDS, stateSchema } from './record-format.ts'

/** In the order of the ULIDs; undefined for a message that has no record. */
export async function readStates(redis: Redis, lane: number, ulids: readonly string[]): Promise<(State | undefined)[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hget(messageKey(lane, ulid), FIELDS.state)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, letter]) => {
    if (error) throw error
    return letter === null ? undefined : stateSchema.parse(letter)
  })
}

const shownFields = z.tuple([stateSchema, z.coerce.number()])

/** The states as lookups show them: that a repeat failed proves nothing about the attempt before it. */
export async function readShownStates(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(State | undefined)[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hmget(messageKey(lane, ulid), FIELDS.state, FIELDS.repeats)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, fields]) => {
    if (error) throw error
    if (!Array.isArray(fields) || fields[0] === null) return undefined
    const [state, repeats] = shownFields.parse(fields)
    return shownState({ state, repeats })
  })
}
