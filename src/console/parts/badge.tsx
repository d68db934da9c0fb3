// Badges, sparklines and bars. Colour only repeats what words and shapes say.

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'quiet'

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
