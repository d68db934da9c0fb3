// WhatsApp behind both wires: decides about a submission that its wire found in order, gives it an id, writes
// the ledger and sets its fate going. The wires translate requests into submissions and verdicts into answers.

import { behaviourNamed, behaviourOfNumber, type Rejection, type SpoiltAnswer } from './behaviours.ts'
import { BoundedMap } from './bounded-map.ts'
import type { SimulatorConfig } from './config.ts'
import { GraphAccount } from './graph-account.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { Limits } from './limits.ts'
import { MediaFiles } from './media.ts'
import { Physics } from './physics/physics.ts'
import type { Plan } from './physics/plan.ts'
import { Receipts } from './receipts.ts'
import { Rules } from './rules.ts'
import type { Submission } from './submission.ts'
import { ARRIVES, type StatusUpdate, standingOf, type Timeline, updatesOf } from './timeline.ts'
import { Uploads } from './uploads.ts'
import { type MessageFacts, outboundId } from './wamid.ts'
import { type Change, type DisplayNumberOf, displayNumbers } from './webhook-body.ts'
import { Webhooks } from './webhooks.ts'

export type Verdict =
  | { kind: 'rejected'; rejection: Rejection }
  | {
      kind: 'accepted'
      id: string
      answer: SpoiltAnswer | null
      /** WhatsApp waits with sending it. */
      isHeld: boolean
      /** A webhook that must be posted before the answer leaves. */
      early: Change | null
    }

/** Of older messages only the status can still be looked up, for that needs no memory. */
const INFOS_KEPT = 10_000

/** A message as `fetchmessageinfo` shows it, without its status. */
export interface MessageInfo {
  direction: 'inbound' | 'outbound'
  /** Sender, digits. */
  from: string
  text: string
  type: string
  /** Epoch ms of acceptance or receipt. */
  atMs: number
}

/** WhatsApp behind both wires: judges sends, keeps the ledger, schedules status webhooks. */
export class ChatProduct {
  readonly config: SimulatorConfig
  readonly ledger: Ledger
  readonly displayNumberOf: DisplayNumberOf
  readonly limits = new Limits()
  readonly physics = new Physics()
  readonly rules = new Rules()
  readonly webhooks: Webhooks
  /** What message info answers, by id. */
  readonly infos = new BoundedMap<MessageInfo>(INFOS_KEPT)
  /** The data of the Graph API besides messages. */
  readonly graph: GraphAccount
  /** Files that people have sent. */
  readonly media = new MediaFiles()
  /** Received messages that were marked as read. */
  readonly receipts = new Receipts()
  /** Files that businesses have uploaded. */
  readonly uploads = new Uploads()
  honoursIdempotency: boolean
  /** How long lookups of the partner wire take to be answered. */
  lookupDelayMs = 0
  /** How long the request of a message takes to be answered, on both wires. */
  answerDelayMs = 0

  /** @throws StartError when the ledger's file cannot be opened */
  constructor(config: SimulatorConfig) {
    this.config = config
    this.displayNumberOf = displayNumbers(config.numbers)
    this.ledger = openLedger(config.ledgerFile)
    this.graph = new GraphAccount(this.displayNumberOf)
    this.webhooks = new Webhooks(config.webhookUrl, config.appSecret, this.displayNumberOf)
    this.honoursIdempotency = config.honoursIdempotency
  }

  /** Resolves when a request that is being taken or refused may be answered. */
  async mayAnswer(): Promise<void> {
    const ms = this.answerDelayMs
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
  }

  /**
   * Takes a message or rejects it. When the verdict says accepted, the ledger has its line already; a crash between the
   * line and the answer is what a client must expect of the real one too.
   */
  take(submission: Submission): Verdict {
    const now = Date.now()
    const plan = this.rules.planFor(submission)
    if (plan.rejection !== null) return { kind: 'rejected', rejection: plan.rejection }
    const refusal = this.limits.refuse(submission, now)
    if (refusal !== null) return { kind: 'rejected', rejection: refusal }

    const fate = this.limits.isOutsideWindow(submission, now)
      ? behaviourNamed('outside-window')
      : this.uploads.linksRefused && submission.hasLinks === true
        ? behaviourNamed('media-failed')
        : plan.fate
    const { wire, to, opaque, sender, account, productPolicy, mediaIds = [] } = submission
    const id = outboundId({ wire, to, acceptedMs: now, fateNumber: fate?.number ?? null })
    const portfolio = wire === 'cloud' ? this.physics.of(account) : undefined
    const ruling = portfolio?.judge({ ...submission, id }, now)
    if (ruling?.kind === 'refused') return { kind: 'rejected', rejection: { code: ruling.code } }
    const more = {
      ...(productPolicy && { product_policy: productPolicy }),
      ...(mediaIds.length > 0 && { media: mediaIds }),
    }
    this.ledger.append({ at_ms: now, wire, id, opaque, to, sender, ...more })
    const timeline = fate?.timeline ?? ARRIVES
    const change = this.#announcerOf(
      id,
      submission,
      { wabaId: portfolio?.plan.waba_id, answered: ruling?.answered },
      timeline,
    )
    const usual = wire === 'cloud' && timeline.silent !== true ? updatesOf(timeline, now, this.config) : []
    const ruled = ruling?.updates ?? null
    const early = ruled === null && timeline.firstBeforeAnswer === true ? usual.shift() : undefined
    for (const update of ruled ?? usual) this.webhooks.schedule(change(update), update.dueMs)
    return {
      kind: 'accepted',
      id,
      answer: plan.answer,
      isHeld: ruling?.isHeld ?? false,
      early: early === undefined ? null : change(early),
    }
  }

  /** Switches the physics of these portfolios on, and all others off. */
  switchPhysicsOn(plans: readonly Plan[]): void {
    const { limits, webhooks, displayNumberOf, config: delays } = this
    this.physics.switchOn(
      plans,
      {
        delays,
        displayNumberOf,
        hasWindow: (sender, to, nowMs) => limits.hasWindow(sender, to, nowMs),
        schedule: (accountUpdate, wabaId, dueMs, answered) =>
          webhooks.schedule({ accountUpdate, wabaId, answered }, dueMs),
      },
      Date.now(),
    )
  }

  /** The present status of an accepted message; null before it is sent. */
  standing(facts: MessageFacts): StatusUpdate | null {
    const fate = facts.fateNumber === null ? undefined : behaviourOfNumber(facts.fateNumber)
    return standingOf(fate?.timeline ?? ARRIVES, facts.acceptedMs, this.config, Date.now())
  }

  async close(): Promise<void> {
    await this.webhooks.close()
    this.ledger.close()
  }

  /** Makes webhook changes from the updates of a message. */
  #announcerOf(
    id: string,
    submission: Submission,
    more: Pick<Change, 'wabaId' | 'answered'>,
    { steps }: Timeline,
  ): (update: StatusUpdate) => Change {
    const { account: sender, to, opaque, template, category } = submission
    const message = {
      id,
      sender,
      to,
      opaque,
      category: category ?? (template === null ? 'service' : 'utility'),
      ...(steps.some(({ status }) => status === 'delivered') ? {} : { skipsDelivered: true }),
    } as const
    return (update) => ({ message, update, ...more })
  }
}
