// One message on its way through a worker: a single object from the read to the settlement, which each step fills in. Its
// stages, and what is left in Redis when the process dies in each, are at the head of lane-loop.ts.
import type { SendPayload } from '../../jobs/send.ts'
import type { Deadline } from '../../kernel/deadline.ts'
import { acceptedAtMs, type MessageId } from '../../kernel/message-id.ts'
import type { Slot, WaitsAs } from '../../lanes/messages/claim.ts'
import type { NewMessage } from '../../lanes/messages/new-message.ts'
import type { MarketingRoute } from '../../model/accounts/sender.ts'
import type { Content } from '../../model/messages/content.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Names } from '../../model/people/person.ts'
import type { Counted } from '../../portfolios/rules.ts'
import type { InLine, Turn } from './lane-slots.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import type { NamedUpload } from './uploads.ts'

/** What a candidate is made from: a job of its own, or its place in the list of a campaign. */
export interface Read {
  id: MessageId
  /** Its id as users see it. */
  name: string
  /** The fields of its record. */
  message: NewMessage
  /** Its content; with `values` it has placeholders for these (model/messages/placeholders.ts). */
  content: Content
  values?: readonly string[] | undefined
  /** The route of its campaign, which overrules that of the sender. */
  route?: MarketingRoute | undefined
  /** What it waits as: a job or a place. */
  waitsAs: WaitsAs
  /** When its campaign was made, where that is known: an erasure since then stops it (epoch ms). */
  erasedSinceMs?: number
  /** The payload of a job of its own. */
  payload: () => SendPayload
  /** The trace that it was accepted in, from its job. */
  trace?: string | undefined
}

/** A message of a step. Each stage sets its fields anew; before that stage they mean nothing. */
export class Candidate implements InLine {
  // Read.
  readonly id: MessageId
  readonly name: string
  readonly message: NewMessage
  readonly values: readonly string[] | undefined
  readonly waitsAs: WaitsAs
  readonly payload: () => SendPayload
  readonly trace: string | undefined
  private readonly read: Pick<Read, 'content' | 'route' | 'erasedSinceMs'>
  private sender: DirectoryEntry | undefined

  // Named: who its person is, what its files are for the provider, and whether it is marketing.
  /** The names of its person, if there are others than the recipient. */
  names: Names | undefined
  isMarketing = false
  /** The address for marketing that it goes to, and by which policy; undefined: the usual one. */
  route: MarketingRoute | undefined
  content: Content
  /** Its files of the gallery by the provider's ids, which `content` has too. */
  uploads: readonly NamedUpload[] = []
  /** Why it can never be sent: once claimed it ends with this, and no request leaves. */
  refusal: Problem | undefined
  /** It waits for a file for so long (ms). */
  fileWaitMs: number | undefined

  // Allowed.
  /** After this its recipient must be checked again for opt-outs and erasure. */
  wantedUntil: Deadline = AT_ONCE
  /** What was counted for it under WhatsApp's rules. */
  counted: Counted | undefined
  /** It is to be claimed no sooner (epoch ms, by Redis' clock). */
  notBefore: number | undefined
  /** It waits until campaigns may send again. */
  isResting = false

  // Claimed.
  attempt = ''
  slot: Slot | undefined
  /** The rest of its lane waits until it is settled. */
  isProbe = false
  /** The request must have left by then. */
  until: Deadline = AT_ONCE

  // In line.
  resolve: ((turn: Turn) => void) | undefined
  rechecks = 0
  /** Turns in which its request could not leave. */
  missed = 0

  constructor(read: Read) {
    this.id = read.id
    this.name = read.name
    this.message = read.message
    this.values = read.values
    this.waitsAs = read.waitsAs
    this.payload = read.payload
    this.trace = read.trace
    this.content = read.content
    this.read = read
  }

  /** Resets it to what was read, for a step with its sender: what an earlier step found is out of date. */
  begin(sender: DirectoryEntry): void {
    this.sender = sender
    const { content, route } = this.read
    this.content = content
    this.route = route
    this.names = undefined
    this.isMarketing = false
    this.uploads = NO_UPLOADS
    this.refusal = undefined
    this.fileWaitMs = undefined
    this.counted = undefined
    this.notBefore = undefined
    this.isResting = false
  }

  /** Its sender as it was when the step began: before the claim. Throws without a step. */
  get entry(): DirectoryEntry {
    if (this.sender === undefined) throw new Error(`${this.name} is in no step`)
    return this.sender
  }

  /** An erasure of its person since then stops it (epoch ms). */
  get erasedSinceMs(): number {
    return this.read.erasedSinceMs ?? acceptedAtMs(this.id.ulid)
  }

  get isTransactional(): boolean {
    return this.message.class === 'transactional'
  }

  /** Under which its opt-outs, caps and windows are kept. */
  get allNames(): Names {
    return this.names ?? [this.message.to]
  }
}

const NO_UPLOADS: readonly NamedUpload[] = []
const AT_ONCE: Deadline = { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY }
