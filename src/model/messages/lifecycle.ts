// The states and moves of a message, said once here. The steps run in Redis (lanes/messages/scripts/message-lifecycle.lua), which gets
// this table when a script is loaded.
//
//   queued ─> sending ─> sent ─> delivered ─> read
//     │          ├─────> queued        proven unsent, worth another try
//     │          ├─────> failed        refused for good, or tries used up
//     │          └─────> unconfirmed   the request left and no trustworthy answer came
//     │                     ├─> sent … read / failed   evidence arrived
//     │                     ├─> queued                 the policy allows one more try, flagged
//     │                     └─> unknown                final, unless evidence arrives
//     └─> expired, cancelled
//
// Evidence (a webhook, a status poll, or the provider's own answer) may arrive at any time, in any order, any number
// of times. It only moves a message forward: `failed` never overrides `delivered` or `read`, and proof that a message
// went out corrects every state that had assumed otherwise.
//
// A message that was repeated in doubt may have gone out under two attempts. Each attempt is sent, and then perhaps
// failed; the message is `sent` as long as one of them is known to be sent and not to have failed, and `failed` when
// the attempt that counts has failed and no other is known to be sent. Reports about the others are stored, so that
// the order of reports does not matter. Where it does, docs/how-it-works/architecture.md has the table.

/** A campaign stores the state of a recipient as its place in this list: a new state comes last. */
export const STATES = [
  'queued',
  'sending',
  'unconfirmed',
  'sent',
  'delivered',
  'read',
  'failed',
  'expired',
  'cancelled',
  'unknown',
] as const
export type State = (typeof STATES)[number]

/** The letter that each state is stored under. */
export const LETTERS = {
  queued: 'q',
  sending: 'c',
  unconfirmed: 'l',
  sent: 's',
  delivered: 'd',
  read: 'r',
  failed: 'f',
  expired: 'x',
  cancelled: 'k',
  unknown: 'n',
} as const satisfies Readonly<Record<State, string>>

/** The state that is stored under a letter; undefined for any other text. */
export const stateOf = (letter: string): State | undefined => STATES.find((state) => LETTERS[state] === letter)

/** States that prove that the message went out, in their order. */
export const PROVEN_SENT = ['sent', 'delivered', 'read'] as const satisfies readonly State[]

/** Proof of what became of an attempt. */
export type Evidence = (typeof PROVEN_SENT)[number] | 'failed'

/**
 * Whether what may have gone out is sent once more. `safe`: the upstream keeps our idempotency key, so it cannot
 * double.
 */
export type Repeat = 'never' | 'once' | 'safe'

/** A line of the table. */
export interface Move {
  /** States that it applies to; in any other it changes nothing. */
  from: readonly State[]
  to: State
  /** The target instead when the message has used up its tries, its repeats or its time. */
  orElse?: State
}

/**
 * Each step but `status`, which takes evidence in any state: see message-lifecycle.lua.
 * - `claim`: a worker wants to send it now. If another attempt has claimed it, that attempt is in doubt.
 * - `not_sent`: the attempt is proven not to have sent it.
 * - `unconfirmed`: the attempt ended without a trustworthy answer, or outlived every timeout.
 * - `resolve`: the wait for evidence is over.
 * - `give_up`: its job cannot be processed or is gone.
 * - `requeue`: a person wants it tried again.
 */
export const MESSAGE_MOVES = {
  claim: { from: ['queued', 'sending'], to: 'sending', orElse: 'expired' },
  not_sent: { from: ['sending', 'unconfirmed', 'unknown'], to: 'queued', orElse: 'failed' },
  unconfirmed: { from: ['sending'], to: 'unconfirmed' },
  resolve: { from: ['unconfirmed'], to: 'queued', orElse: 'unknown' },
  give_up: { from: ['queued'], to: 'failed' },
  cancel: { from: ['queued'], to: 'cancelled' },
  requeue: { from: ['failed', 'unknown', 'expired', 'cancelled'], to: 'queued' },
} as const satisfies Readonly<Record<string, Move>>
export type MoveKind = keyof typeof MESSAGE_MOVES

/** The result of a step. */
export type Verdict =
  /** The step was taken. For a claim: send it. */
  | 'done'
  /** Nothing changed: the state does not allow it, or it was known already. */
  | 'ignored'
  /** Claim only: another attempt held it; it is unconfirmed now. Do not send. */
  | 'in_doubt'

/** States in which a message was not sent, unless it was repeated in doubt. */
export const UNSENT = ['failed', 'expired', 'cancelled'] as const satisfies readonly State[]
const unsent: ReadonlySet<State> = new Set(UNSENT)

/**
 * The state that lookups show and campaigns count. After a repeat in doubt, a repeat that failed, expired or was cancelled proves
 * nothing about the first attempt, which may have gone out: a client that sees `failed` would send it again. Scripts have the same in
 * message-lifecycle.lua.
 */
export const shownState = ({ state, repeats }: { state: State; repeats: number }): State =>
  repeats > 0 && unsent.has(state) ? 'unknown' : state
