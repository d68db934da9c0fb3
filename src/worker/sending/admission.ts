// WhatsApp's own rules before a claim: whether a person has had enough marketing, whether WhatsApp holds as many messages as it
// may, whether the portfolio may write to one person more today. What may not leave yet waits, visibly, and nothing else suffers.
//
// What is counted for a message is given back when it is proven not to have left. If the process dies before that, it stays
// counted: the message is tried again, and its person counts once.
import type { Config } from '../../config.ts'
import { openWindowsAmong } from '../../messages/store/inbound.ts'
import { observerOf } from '../../observe.ts'
import { type Admission, admit, type Counted, noteResting } from '../../portfolios/store/rules.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Outgoing } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** A person may raise the limit, and a place may come free: what waits for that asks again so soon. */
const MOST_REST_MS = 10_000
/** The same of a transactional message, which asks by itself. */
const MOST_PUT_OFF_MS = 60_000

/** What of some messages may leave. */
export interface Admitted {
  /** What was counted for those that may. */
  counted: ReadonlyMap<Outgoing, Counted>
  /** Those that are to be claimed no sooner than then (epoch ms). */
  putOff: ReadonlyMap<Outgoing, number>
  /** Those that wait until campaigns may send again. */
  resting: ReadonlySet<Outgoing>
  /** How long campaigns send nothing; undefined while they may. */
  restMs: number | undefined
}

/** Asks for all messages of a step at once; of most nothing need be asked. */
export async function admittedAmong(
  { redis, config: { mostHeld } }: { redis: Redis; config: Pick<Config, 'mostHeld'> },
  { rules }: DirectoryEntry,
  messages: readonly Outgoing[],
): Promise<Admitted> {
  const counted = new Map<Outgoing, Counted>()
  const putOff = new Map<Outgoing, number>()
  const resting = new Set<Outgoing>()
  const none = { counted, putOff, resting, restMs: undefined }
  const isCounted = (rules.portfolio?.dailyLimit ?? null) !== null
  const asked = messages.filter(
    ({ message }) => message.class === 'campaign' || (isCounted && message.type === 'template'),
  )
  const [first] = asked
  if (first === undefined) return none
  const templates = isCounted ? asked.filter(({ message }) => message.type === 'template') : []
  const people = templates.map(({ message }) => message.to)
  const open = await openWindowsAmong(redis, first.id.lane, people)
  const opens = new Set(templates.filter((_each, i) => !open.has(i)))
  const asks = asked.map((each) => ({
    name: each.name,
    to: each.message.to,
    isMarketing: each.message.class === 'campaign',
    isCampaign: each.message.class === 'campaign',
    opensConversation: opens.has(each),
  }))
  const admissions = await admit(redis, rules, asks, { mostHeld })
  let rest: Exclude<Admission, { verdict: 'ok' }> | undefined
  const nowMs = Date.now()
  for (const [i, admission] of admissions.entries()) {
    const each = asked[i]
    if (each === undefined) continue
    if (admission.verdict === 'ok') {
      const { counted: isNew, holdsPlace } = admission
      if (isNew || holdsPlace) counted.set(each, { name: each.name, to: each.message.to, counted: isNew, holdsPlace })
      continue
    }
    observerOf(redis).ruleWaits({ lane: each.id.lane, class: each.message.class, why: admission.verdict })
    if (admission.verdict === 'person_capped') {
      putOff.set(each, admission.untilMs)
    } else if (each.message.class === 'campaign') {
      resting.add(each)
      rest = admission
    } else {
      putOff.set(each, Math.min(admission.untilMs, nowMs + MOST_PUT_OFF_MS))
    }
  }
  if (rest === undefined) return none
  const restMs = Math.max(1, Math.min(rest.untilMs - nowMs, MOST_REST_MS))
  // For people who ask why nothing leaves; nothing else reads it.
  await noteResting(redis, rules, rest, restMs)
  return { counted, putOff, resting, restMs }
}
