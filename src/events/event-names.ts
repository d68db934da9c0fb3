// Which events there are, by name. Pure, and without a schema: the console has them as well.

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
