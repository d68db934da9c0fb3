// Received messages that a business has marked as read, by `POST /v25.0/{phone-number-id}/messages` with `"status": "read"`.
import { BoundedMap } from './bounded-map.ts'

const KEPT = 10_000

/** A read receipt as `GET /_receipts` shows it. */
interface Receipt {
  message_id: string
  sender: string
  typing: boolean
}

export class Receipts {
  /** Phone number id of each received message. */
  readonly #received = new BoundedMap<string>(KEPT)
  readonly #taken: Receipt[] = []

  /** A number has received a message. */
  received(id: string, sender: string): void {
    this.#received.set(id, sender)
  }

  /** Whether the number has received such a message. */
  take(
    { message_id, typing_indicator }: { message_id: string; typing_indicator?: object | undefined },
    sender: string,
  ) {
    if (this.#received.get(message_id) !== sender) return false
    this.#taken.push({ message_id, sender, typing: typing_indicator !== undefined })
    if (this.#taken.length > KEPT) this.#taken.shift()
    return true
  }

  /** All that were taken, oldest first. */
  list(): readonly Receipt[] {
    return this.#taken
  }
}
