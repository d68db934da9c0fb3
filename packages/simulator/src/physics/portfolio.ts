// The physics of one business portfolio: applies every rule to a message in the order in which WhatsApp would, and decides what
// becomes of it. Nothing here waits: what happens later is known at once, and goes out as webhooks that are due then.

import type { ChatErrorCode } from '../chat-errors.ts'
import type { Submission } from '../submission.ts'
import { ARRIVES, type Delays, failsWith, type StatusUpdate, updatesOf } from '../timeline.ts'
import type { AccountUpdate, DisplayNumberOf } from '../webhook-body.ts'
import { limitChanged, numberChanged, type TemplateName, templatePaused, templateQuality } from './account-updates.ts'
import { Budget } from './budget.ts'
import { Caps } from './caps.ts'
import { happens } from './chance.ts'
import { Holds } from './holds.ts'
import type { Line } from './listing.ts'
import { BusinessNumber } from './number.ts'
import type { Plan } from './plan.ts'
import { TemplateQuality } from './template-quality.ts'

/** What becomes of a message. */
export type Ruling =
  | { kind: 'refused'; code: ChatErrorCode }
  /** `updates`: the updates of its webhooks, and `answered` is called when they were; null: it arrives as usual. */
  | { kind: 'taken'; isHeld: boolean; updates: StatusUpdate[] | null; answered?: (atMs: number) => void }

/** What physics need of the simulator around them. */
export interface Surroundings {
  displayNumberOf: DisplayNumberOf
  delays: Delays
  /** Whether the person has written to that number within 24 hours. */
  hasWindow(sender: string, to: string, nowMs: number): boolean
  note(line: Line): void
  /** Posts a webhook when it is due (epoch ms); `answered` is called when it was answered. */
  schedule(update: AccountUpdate, dueMs: number, answered?: (atMs: number) => void): void
}

type Message = Submission & { id: string }

/** One portfolio. */
export class Portfolio {
  readonly plan: Plan
  readonly #around: Surroundings
  readonly #caps: Caps | null
  readonly #holds: Holds | null
  readonly #budget: Budget | null
  readonly #numbers = new Map<string, BusinessNumber>()
  readonly #templates = new Map<string, TemplateQuality>()

  constructor(plan: Plan, around: Surroundings, nowMs: number) {
    this.plan = plan
    this.#around = around
    this.#caps = plan.caps === undefined ? null : new Caps(plan.caps, plan)
    this.#holds = plan.holds === undefined ? null : new Holds(plan.holds)
    this.#budget = plan.budget === undefined ? null : new Budget(plan.budget, plan.day_ms, nowMs)
    const raisedMs = this.#budget?.raisedMs ?? null
    if (raisedMs === null || plan.budget?.raised_to === undefined) return
    this.#schedule(limitChanged(plan.budget.raised_to), raisedMs)
    this.#note('raises_limit', raisedMs)
  }

  /** Rules about a message of one of its numbers; what is taken counts. */
  judge(message: Message, nowMs: number): Ruling {
    const { account: sender, to, template } = message
    const number = this.#numberOf(sender)
    const refusal = number.refuse(nowMs) ?? this.#refuseTemplate(template, nowMs)
    if (refusal !== null) return this.#refuse(message, refusal, nowMs)
    const isMarketing = template !== null && (this.plan.marketing?.includes(template.name) ?? true)
    const hasWindow = this.#around.hasWindow(sender, to, nowMs)
    // Who has just written is in a conversation, which no cap ends.
    const reportMs = nowMs + this.#around.delays.sentMs
    const capped = isMarketing && !hasWindow ? (this.#caps?.judge(to, nowMs, reportMs) ?? null) : null
    if (capped !== null) {
      const { untilMs: until_ms, knownMs: told_ms, inAnswer } = capped
      const times = told_ms === null ? { until_ms } : { until_ms, told_ms }
      this.#noteOf(message, told_ms === null ? 'capped' : 'within_cap', nowMs, { ...times, taken: !inAnswer })
      if (inAnswer) return { kind: 'refused', code: 131049 }
    }
    const isCounted = template !== null && !hasWindow && this.#budget !== null
    if (isCounted && !this.#budget.hasRoom(to, nowMs)) {
      return this.#refuse(message, { code: 131048, event: 'over_budget' }, nowMs)
    }
    if (isCounted) this.#budget.count(to, nowMs)
    if (number.take(nowMs)) {
      this.#schedule(numberChanged(this.#around.displayNumberOf(sender), 'THROUGHPUT_UPGRADE'), nowMs)
      this.#note('raises_throughput', nowMs, { sender })
    }
    if (capped !== null) return { ...this.#taken(failsWith(131049), nowMs), answered: capped.learns }
    if (!isMarketing) return { kind: 'taken', isHeld: false, updates: null }
    return this.#hold(message, template, nowMs) ?? this.#arrive(message, template, nowMs)
  }

  /** Held until it is decided, with all others that are. */
  #hold(message: Message, template: TemplateName, nowMs: number): Ruling | null {
    const held = this.#holds?.hold(nowMs) ?? null
    if (held === null || this.#holds === null) return null
    const { ends, code } = this.#holds.plan
    const { untilMs, isFirst } = held
    this.#noteOf(message, ends === 'well' ? 'held' : 'held_and_dropped', nowMs, { until_ms: untilMs, taken: true })
    if (isFirst && ends === 'badly') this.#pauseTemplate(template, untilMs)
    if (ends === 'well') return { ...this.#taken(ARRIVES, untilMs), isHeld: true }
    const updates: StatusUpdate[] = [{ status: 'failed', code, dueMs: untilMs, happenedMs: untilMs }]
    return { kind: 'taken', isHeld: true, updates }
  }

  /** Arrives as usual; who reads it may block the number. */
  #arrive(message: Message, template: TemplateName, nowMs: number): Ruling {
    const { quality, seed } = this.plan
    const { account: sender, to } = message
    if (quality !== undefined && happens(quality.blocks, seed, `blocks ${to}`)) {
      const atMs = nowMs + this.#around.delays.readMs
      this.#noteOf(message, 'blocks', atMs, { taken: true })
      const change = this.#qualityOf(template).block(atMs)
      if (change === 'paused') this.#pauseTemplate(template, atMs)
      else if (change !== null) this.#schedule(templateQuality(template, change), atMs)
      if (this.#numberOf(sender).block(atMs)) {
        this.#schedule(numberChanged(this.#around.displayNumberOf(sender), 'FLAGGED'), atMs)
        this.#schedule(
          numberChanged(this.#around.displayNumberOf(sender), 'UNFLAGGED'),
          atMs + quality.holds_number_back_ms,
        )
        this.#note('holds_number_back', atMs, { sender })
      }
    }
    return { kind: 'taken', isHeld: false, updates: null }
  }

  #taken(timeline: typeof ARRIVES, fromMs: number): Ruling & { kind: 'taken' } {
    return { kind: 'taken', isHeld: false, updates: updatesOf(timeline, fromMs, this.#around.delays) }
  }

  #pauseTemplate(template: TemplateName, atMs: number): void {
    this.#qualityOf(template).pausedMs ??= atMs
    const about = { template: template.name }
    this.#schedule(templatePaused(template), atMs, (answeredMs) => this.#note('pause_told', answeredMs, about))
    this.#note('pauses_template', atMs, about)
  }

  #refuseTemplate(template: TemplateName | null, nowMs: number) {
    const pausedMs = template === null ? null : this.#qualityOf(template).pausedMs
    return pausedMs !== null && nowMs >= pausedMs ? ({ code: 132015, event: 'template_paused' } as const) : null
  }

  #refuse(message: Message, { code, event }: { code: ChatErrorCode; event: Line['event'] }, nowMs: number): Ruling {
    this.#noteOf(message, event, nowMs, {})
    return { kind: 'refused', code }
  }

  #numberOf(sender: string): BusinessNumber {
    const known = this.#numbers.get(sender) ?? new BusinessNumber(this.plan)
    this.#numbers.set(sender, known)
    return known
  }

  /** How people like a template. */
  #qualityOf({ name, language }: TemplateName): TemplateQuality {
    const key = `${name} ${language}`
    const known = this.#templates.get(key) ?? new TemplateQuality(this.plan.quality?.pauses_template_at)
    this.#templates.set(key, known)
    return known
  }

  #schedule(content: Pick<AccountUpdate, 'field' | 'value'>, atMs: number, answered?: (atMs: number) => void): void {
    this.#around.schedule({ ...content, atMs }, atMs, answered)
  }

  #note(event: Line['event'], atMs: number, more: Partial<Line> = {}): void {
    this.#around.note({ at_ms: atMs, portfolio: this.plan.waba_id, event, ...more })
  }

  #noteOf(
    { id, account: sender, to, opaque, template }: Message,
    event: Line['event'],
    atMs: number,
    { taken, ...times }: Pick<Line, 'until_ms' | 'told_ms'> & { taken?: boolean },
  ): void {
    const name = template === null ? {} : { template: template.name }
    this.#note(event, atMs, { sender, to, opaque, ...name, ...times, ...(taken && { id }) })
  }
}
