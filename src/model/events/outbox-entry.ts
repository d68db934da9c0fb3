// The format of an entry of a lane's outbox. Events of messages have a compact format, because nearly all events are of
// messages (lanes/messages/scripts/message-events.lua writes them); all others are JSON. Pure.
import { z } from 'zod'
import { acceptedAtMs } from '../../kernel/message-id.ts'
import { openTextOr } from '../../kernel/sealed.ts'
import { CAMPAIGN_STATES } from '../campaigns/lifecycle.ts'
import { type State, shownState, stateOf } from '../messages/lifecycle.ts'
import type { Problem } from '../messages/outcome.ts'

const at = z.number()
const otherEvent = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('campaign'),
    number: z.number().int(),
    state: z.enum(CAMPAIGN_STATES),
    from: z.enum(CAMPAIGN_STATES),
    seq: z.number().int(),
    at,
    reason: z.string().optional(),
  }),
  z.object({ about: z.literal('sender'), blocked: z.boolean(), reason: z.string(), at }),
  // Identified by a digest: WhatsApp's id contains the person's number.
  z.object({ about: z.literal('received'), name: z.string(), at }),
  z.object({ about: z.literal('media_kept'), name: z.string(), at }),
  z.object({
    about: z.literal('notice'),
    id: z.string(),
    field: z.string(),
    event: z.string().nullable(),
    lane: z.number().int().optional(),
    sentence: z.string(),
    at,
  }),
  z.object({ about: z.literal('gallery'), bytes: z.number(), limit: z.number(), at }),
  z.object({ about: z.literal('endpoint'), id: z.string(), reason: z.string(), at }),
])

/** A message entered this state. `seq` counts its steps; acceptance is the first. */
export interface MessageChange {
  about: 'message'
  ulid: string
  /** The state as users see it. */
  state: State
  possibleDuplicate: boolean
  seq: number
  /** Epoch ms. */
  at: number
  problem: Problem | undefined
  /** No delivery was reported before: the read receipt is its first proof. */
  isFirstProofOfDelivery: boolean
}

/** Something that happened, before it becomes a document for a reader. */
export type Occurrence = MessageChange | z.infer<typeof otherEvent>
/** What is written into an outbox as JSON. */
type OtherOccurrence = z.infer<typeof otherEvent>

/** An event with its position: a source (lane, or 0 for the account), entry and line. */
export interface PlacedEvent {
  source: number
  entry: string
  line: number
  occurrence: Occurrence
}

/** The one field of an entry of a stream. */
export const ENTRY = {
  /** Events of messages, one a line, or one event as JSON. */
  events: 'e',
} as const

/** The signs in the line of a message's event. */
export const MARK = {
  /** Behind the letter of the state: the message was repeated in doubt. */
  repeated: '!',
  /** In place of a problem: it was read without any report of its delivery. */
  firstProof: '+',
} as const

const LINE = new RegExp(`^([0-7][0-9A-HJKMNP-TV-Z]{25})([a-z])(${MARK.repeated}?)(\\d+),(-?[0-9a-z]+),(.*)$`, 's')

/** The events of an entry, in order. Unreadable lines are skipped, as later releases do. */
export function readEntry(source: number, entry: string, text: string): PlacedEvent[] {
  return text.split('\n').flatMap((line, i) => {
    const occurrence = line.startsWith('{') ? readOther(line) : readChange(line)
    return occurrence === undefined ? [] : [{ source, entry, line: i, occurrence }]
  })
}

function readChange(line: string): MessageChange | undefined {
  const [, ulid, letter = '', again, seq, since = '', why = ''] = LINE.exec(line) ?? []
  const state = stateOf(letter)
  if (ulid === undefined || state === undefined) return undefined
  const bar = why.indexOf('|')
  return {
    about: 'message',
    ulid,
    state: shownState({ state, repeats: again === MARK.repeated ? 1 : 0 }),
    possibleDuplicate: again === MARK.repeated,
    seq: Number(seq),
    at: acceptedAtMs(ulid) + Number.parseInt(since, 36),
    problem: bar < 0 ? undefined : { code: why.slice(0, bar), sentence: openTextOr(why.slice(bar + 1), '') },
    isFirstProofOfDelivery: state === 'read' && why === MARK.firstProof,
  }
}

function readOther(line: string): OtherOccurrence | undefined {
  try {
    return otherEvent.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}

/**
 * The id of an event, the same at each delivery and for each endpoint: `evt_<source>_<entry>_<line>`. A received message may
 * have several entries, as when WhatsApp brings it twice at the same moment: its events are named by the digest of its id.
 */
export function eventId({ source, entry, line, occurrence }: PlacedEvent): string {
  if (occurrence.about === 'received') return `evt_${source}_${occurrence.name}`
  if (occurrence.about === 'media_kept') return `evt_${source}_${occurrence.name}_media`
  return `evt_${source}_${entry.replace('-', '_')}_${line}`
}

/** Events with the same key must not overtake each other: those of one message keep their order where possible. */
export const orderingKey = ({ source, occurrence }: PlacedEvent): string =>
  occurrence.about === 'message' ? occurrence.ulid : `${occurrence.about} ${source}`
