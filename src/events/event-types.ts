// Event types as requests name them, and the one that a state is told as. Pure.
import { z } from 'zod'
import type { State } from '../messages/lifecycle.ts'
import { EVENT_TYPES, type EventType } from './event-names.ts'

export { DEFAULT_TYPES, EVENT_TYPES, type EventType, TEST_TYPE } from './event-names.ts'

export const eventTypeSchema = z.enum(EVENT_TYPES)

/** The event of a message that has come into a state, as people are shown it; undefined for one that goes on at once. */
export const typeOfState = (state: State): EventType | undefined =>
  state === 'queued' || state === 'sending' ? undefined : `message.${state}`
