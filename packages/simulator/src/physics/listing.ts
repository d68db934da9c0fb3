// What physics did, for the judge of a run: one line for each message that a rule touched, and for each change of a rule.
// `GET /_physics` gives all lines; what was sent beside is in the ledger.

/** What happened: to a message, or to a template or number from then on. */
export type Event =
  /** It was refused, or will fail, since its person has had enough: until `until_ms`. */
  | 'capped'
  /** The same, after the business had been told of that cap at `told_ms`. */
  | 'within_cap'
  /** Taken and held until `until_ms`; then it is sent, or dropped. */
  | 'held'
  | 'held_and_dropped'
  /** Refused, each by one rule. */
  | 'over_budget'
  | 'template_paused'
  | 'held_back'
  | 'throttled'
  | 'in_maintenance'
  /** The person blocks the number. */
  | 'blocks'
  /** From this time on. */
  | 'pauses_template'
  /** A webhook has reported it to the business. */
  | 'pause_told'
  | 'holds_number_back'
  | 'raises_limit'
  | 'raises_throughput'

/** One line. Absent is what the event is not about. */
export interface Line {
  at_ms: number
  /** Its `waba_id`. */
  portfolio: string
  event: Event
  sender?: string
  /** Recipient, digits. */
  to?: string
  /** What the request carried along. */
  opaque?: string | null
  template?: string
  /** WhatsApp's id of a message that was taken. */
  id?: string
  until_ms?: number
  told_ms?: number
}

/** Lines that are kept at most; of more the older half goes. */
const KEPT = 1_000_000

/** The lines so far, in their order. */
export class Listing {
  #lines: string[] = []

  add(line: Line): void {
    if (this.#lines.length >= KEPT) this.#lines = this.#lines.slice(KEPT / 2)
    this.#lines.push(`${JSON.stringify(line)}\n`)
  }

  read(): string[] {
    return [...this.#lines]
  }

  empty(): void {
    this.#lines = []
  }
}
