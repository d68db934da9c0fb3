// Text, times, states and amounts as every page shows them, and links to what they name. Colour only repeats what words and
// shapes express.
import { type ComponentChildren, Fragment } from 'preact'
import { type Filters, searchAddress } from '../logic/message-filters.ts'
import { agoText, spanText } from '../logic/numbers.ts'
import { plainText } from '../logic/plain-text.ts'
import { addressOf } from '../state/http.ts'
import { now } from '../state/live.ts'
import { may } from '../state/session.ts'

/** Text from outside: it cannot change the direction of its surroundings, and invisible characters are shown by name. */
export const Text = ({ text, class: name }: { text: string; class?: string | undefined }) => (
  <bdi class={name} dir="auto">
    {plainText(text)}
  </bdi>
)

/** A template tag for words with elements and texts between them; inserted texts count as texts from outside. */
export const words = (between: TemplateStringsArray, ...parts: readonly ComponentChildren[]) =>
  between.map((each, i) => (
    <Fragment key={i}>
      {each}
      {typeof parts[i] === 'string' ? <Text text={parts[i]} /> : parts[i]}
    </Fragment>
  ))

const paragraph =
  (attributes: { class?: string; role?: 'status' }) =>
  (...given: Parameters<typeof words>) => <p {...attributes}>{words(...given)}</p>

/** The same as a paragraph; as one that warns; as one that screen readers read out when it changes. */
export const sentence = paragraph({})
export const held = paragraph({ class: 'held' })
export const status = paragraph({ role: 'status' })

const utc = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const year = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const HMS = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
const clock = new Intl.DateTimeFormat(undefined, HMS)
const fine = new Intl.DateTimeFormat(undefined, { ...HMS, fractionalSecondDigits: 3 })

const msOf = (at: string | number | null | undefined): number =>
  typeof at === 'string' ? Date.parse(at) : (at ?? Number.NaN)

/** A point in time, with UTC on hover. */
const Time = ({ ms, class: name, children }: { ms: number; class?: string; children: string }) => (
  <time dateTime={new Date(ms).toISOString()} title={utc(ms)} class={name}>
    {children}
  </time>
)

/** A time in the reader's zone, with the date unless it is today. */
export function When({ at, millis = false }: { at: string | number | null | undefined; millis?: boolean }) {
  const ms = msOf(at)
  if (Number.isNaN(ms)) return <span class="quiet">–</span>
  const [date, today] = [new Date(ms), new Date()]
  const isToday = date.toDateString() === today.toDateString()
  const prefix = isToday ? '' : `${(date.getFullYear() === today.getFullYear() ? day : year).format(date)}, `
  return (
    <Time ms={ms} class="when">
      {prefix + (millis ? fine : clock).format(date)}
    </Time>
  )
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z)/

/** A sentence of the server; the times in it are shown in the reader's zone. */
export const Said = ({ text }: { text: string }) =>
  text.split(INSTANT).map((part, i) => (i % 2 === 1 ? <When key={i} at={part} /> : <Text key={i} text={part} />))

/** How long ago something was; it keeps counting. */
export function Ago({ at }: { at: string | number | null }) {
  const ms = msOf(at)
  return Number.isNaN(ms) ? <span class="quiet">never</span> : <Time ms={ms}>{agoText(ms, now.value)}</Time>
}

/** How long until something; it counts down. */
export function Until({ at }: { at: string }) {
  const seconds = (msOf(at) - now.value) / 1_000
  return <Time ms={msOf(at)}>{seconds <= 0 ? 'now' : `in ${spanText(seconds)}`}</Time>
}

/** ` Ends in 12 s.`, if the end is known. */
export const EndsIn = ({ at }: { at: string | null }) => at && words` Ends ${<Until at={at} />}.`

/** A link, or plain words for a key that may not follow it; they count as a text from outside. */
const permitted = (isPermitted: boolean, address: string, text: string) =>
  isPermitted ? (
    <a href={address}>
      <Text text={text} />
    </a>
  ) : (
    <Text text={text} />
  )

/** A link to the messages that match. */
export const SearchLink = ({ filters, children }: { filters: Filters; children: string }) =>
  permitted(may('viewMessages'), searchAddress(filters), children)

/** A link to a lane. */
export const LaneLink = ({ sender, name }: { sender: number; name: string }) => (
  <a href={`/console/lanes/${sender}`}>{words`${sender} ${name}`}</a>
)

/** A link to a campaign. */
export const CampaignLink = ({ id, children }: { id: string; children: string }) =>
  permitted(may('viewMessages'), `/console/campaigns/${id}`, children)

/** A number or user id, with a link to the data of the person. */
export const PersonLink = ({ person }: { person: string }) =>
  permitted(may('administer'), addressOf('/console/people', { person }), person)

/** Why a message or a campaign waits, with a link to its lane. The second part of either id is the lane. */
export function WaitReason({
  id,
  waits,
}: {
  id: string
  waits: { why: string; sentence: string; until: string | null } | null
}) {
  if (waits === null) return null
  const lane = id.split('_')[1]
  return (
    <p class="held">
      Why it waits: <Said text={waits.sentence} />
      <EndsIn at={waits.until} />
      {waits.why.startsWith('lane_') && words` ${<a href={`/console/lanes/${lane}`}>Lane {lane}</a>}`}
    </p>
  )
}

type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'quiet'

const SHAPES: Readonly<Record<Tone, string>> = { good: '✓', busy: '▸', wait: '‖', bad: '!', quiet: '○' }

/** A state as a word, in one of five tones. */
export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{SHAPES[tone]}</span>
      <span>{children}</span>
    </span>
  )
}

const MESSAGE: Readonly<Record<string, Tone>> = {
  queued: 'quiet',
  sending: 'busy',
  unconfirmed: 'wait',
  sent: 'busy',
  delivered: 'good',
  read: 'good',
  failed: 'bad',
  expired: 'wait',
  cancelled: 'quiet',
  unknown: 'wait',
}

/** The tone of a message's state. */
export const toneOf = (state: string): Tone => MESSAGE[state] ?? 'quiet'

/** The badge of a message's state; an inbound message is `received`. */
export const MessageState = ({ state, direction }: { state: string; direction?: 'inbound' | 'outbound' }) => (
  <Badge tone={toneOf(state)}>{direction === 'inbound' ? 'received' : state}</Badge>
)

const CAMPAIGN: Readonly<Record<string, Tone>> = {
  draft: 'quiet',
  checking: 'busy',
  ready: 'good',
  blocked: 'bad',
  scheduled: 'quiet',
  running: 'busy',
  paused: 'wait',
  done: 'good',
  cancelled: 'quiet',
}

/** The badge of a campaign's state. */
export const CampaignState = ({ state }: { state: string }) => <Badge tone={CAMPAIGN[state] ?? 'quiet'}>{state}</Badge>

const WIDTH = 90
const HEIGHT = 22

/** A line through evenly spaced points, oldest first. Its scale goes from 0 to `most`, or to the greatest point. */
export function Spark({ points, most = 0 }: { points: readonly number[]; most?: number }) {
  if (points.length < 2) return null
  const top = Math.max(most, ...points, 1e-9)
  const place = (value: number, i: number): string =>
    `${((i * WIDTH) / (points.length - 1)).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline class="line busy" points={points.map(place).join(' ')} />
    </svg>
  )
}

/** A bar that shows how much of something is used. */
export function Gauge({ label, value, most }: { label: string; value: number; most: number }) {
  return <meter class="gauge" aria-label={label} min={0} max={Math.max(most, 1e-9)} value={Math.min(value, most)} />
}
