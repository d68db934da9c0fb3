// A state as a word with a shape before it: colour only repeats what they say.

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'quiet'

const SHAPES: Readonly<Record<Tone, string>> = { good: '✓', busy: '▸', wait: '‖', bad: '!', quiet: '○' }

/** A state in words, in one of five tones. */
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

/** A badge for one of the ten states; an unknown one is shown quietly. What a person wrote was delivered to us: received. */
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

/** A badge for one of the states of its life; an unknown one is shown quietly. */
export const CampaignState = ({ state }: { state: string }) => <Badge tone={CAMPAIGN[state] ?? 'quiet'}>{state}</Badge>
