// An event endpoint: an address that events are delivered to, and which ones. Pure.
import { z } from 'zod'
import { nonEmptyTextUpTo } from '../../kernel/bounded.ts'
import { DEFAULT_TYPES, EVENT_TYPES, eventTypeSchema } from './event-schema.ts'

/** Endpoints of one account. Events are read and delivered for each separately, so the cost grows with their number. */
export const MOST_ENDPOINTS = 20
/** Senders that an endpoint can be limited to. */
const MOST_SENDERS = 100

const urlField = nonEmptyTextUpTo(2_048).superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const fault = (message: string) => context.addIssue({ code: 'custom', message })
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) fault('expected an https address')
  else if (url.username !== '' || url.password !== '') fault('must hold no user and no password')
})

const fields = {
  url: urlField,
  types: z.array(eventTypeSchema).min(1).max(EVENT_TYPES.length),
  senders: z.array(nonEmptyTextUpTo(255)).max(MOST_SENDERS).describe('Numbers, names or ids; all senders when empty.'),
  include_content: z.boolean().describe('Whether numbers and texts are included.'),
  batch: z
    .strictObject({
      max_events: z.int().min(1).max(100).default(1),
      max_wait_ms: z.int().min(0).max(60_000).default(1_000),
    })
    .describe('With more than one event, deliveries are batches.'),
  enabled: z.boolean().describe('Whether events are delivered to it.'),
}

/** What is given to create one. */
export const newEndpointFields = z
  .strictObject({
    url: fields.url,
    types: fields.types.default([...DEFAULT_TYPES]),
    senders: fields.senders.default([]),
    include_content: fields.include_content.default(false),
    batch: fields.batch.default({ max_events: 1, max_wait_ms: 1_000 }),
    enabled: fields.enabled.default(true),
  })
  .meta({ id: 'NewEventEndpoint' })
export type NewEndpoint = z.infer<typeof newEndpointFields>

/** The fields that can be changed; a missing one stays as it is. */
export const endpointChanges = z.strictObject(fields).partial().meta({ id: 'EventEndpointChanges' })
export type EndpointChanges = z.infer<typeof endpointChanges>

const time = z.iso.datetime()

/** The public form of an endpoint. */
export const endpointSchema = z
  .strictObject({
    id: z.string(),
    account: z.int(),
    url: z.string(),
    types: z.array(eventTypeSchema),
    senders: z.array(z.string()).describe('Digits of the senders; all when empty.'),
    include_content: z.boolean(),
    batch: z.strictObject({ max_events: z.int(), max_wait_ms: z.int() }),
    enabled: z.boolean(),
    disabled_for: z.string().nullable().describe('Why nothing is delivered: `by hand`, `gone` (410) or `failing`.'),
    created_at: time,
    failing_since: time.nullable().describe('When the failures began that no success has ended.'),
    last_success_at: time.nullable(),
  })
  .meta({ id: 'EventEndpoint' })
export type EndpointDocument = z.infer<typeof endpointSchema>

/** Whether events fail to reach an endpoint, not counting one that somebody has disabled. */
export const isFailing = ({
  enabled,
  disabled_for: why,
  failing_since: since,
}: Pick<EndpointDocument, 'enabled' | 'disabled_for' | 'failing_since'>): boolean =>
  enabled ? since !== null : why !== 'by hand'

/** One POST to an endpoint, as the log of attempts has it. */
export const attemptSchema = z
  .strictObject({
    at: time,
    delivery: z.string().describe('What `webhook-id` was.'),
    ok: z.boolean(),
    events: z.int(),
    types: z.array(z.string()),
    attempt: z.int().describe('1 for the first.'),
    status: z.int().nullable().describe('Null without an answer.'),
    problem: z.string().nullable().describe('Why there was no answer.'),
    took_ms: z.int(),
    answer: z.string().describe('The beginning of the body, without what may be a number or a secret.'),
    retry_at: time.nullable(),
  })
  .meta({ id: 'EventAttempt' })
export type AttemptDocument = z.infer<typeof attemptSchema>
