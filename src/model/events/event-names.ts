// The names of events. Pure, and without a schema, because the console loads this file too.

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
  'message.media_kept',
  'campaign.started',
  'campaign.paused',
  'campaign.done',
  'campaign.cancelled',
  'sender.blocked',
  'sender.recovered',
  'provider.notice',
  'gallery.full',
  'endpoint.disabled',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** What `POST /event-endpoints/{id}/test` sends; it is delivered to that endpoint only, whatever types it asks for. */
export const TEST_TYPE = 'endpoint.test'

/** The types of an endpoint that names none: without `sent` and `read`, which are most of all events. */
export const DEFAULT_TYPES: readonly EventType[] = EVENT_TYPES.filter(
  (type) => type !== 'message.sent' && type !== 'message.read',
)
