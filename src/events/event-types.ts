// Which events there are. Pure.
import { z } from 'zod'
import type { State } from '../messages/lifecycle.ts'

export const EVENT_TYPES = [
  'message.sent',
  'message.delivered',
  'message.read',
  'message.failed',
  'message.expired',
  'message.cancelled',
  'message.unconfirmed',
  'message.unknown',
  'message.received',
  'campaign.started',
  'campaign.paused',
  'campaign.done',
  'campaign.cancelled',
  'sender.blocked',
  'sender.recovered',
  'endpoint.disabled',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** What `POST /event-endpoints/{id}/test` sends; it is told to that endpoint only, whatever types it asks for. */
export const TEST_TYPE = 'endpoint.test'

/** What an endpoint is told that does not say which types it wants: `sent` and `read` are most of all events. */
export const DEFAULT_TYPES: readonly EventType[] = EVENT_TYPES.filter(
  (type) => type !== 'message.sent' && type !== 'message.read',
)

export const eventTypeSchema = z.enum(EVENT_TYPES)

/** The event of a message that has come into a state, as people are shown it; undefined for one that goes on at once. */
export const typeOfState = (state: State): EventType | undefined =>
  state === 'queued' || state === 'sending' ? undefined : `message.${state}`
