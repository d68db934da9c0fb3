// WhatsApp's own rules before a claim: whether a person has had enough marketing, whether WhatsApp holds as many messages as it
// may, whether the portfolio may write to one person more today. A message that may not leave yet waits, visibly, without
// holding up any other.
//
// A count for a message is given back when it is proven not to have left. If the process dies before that, it stays: the
// message is tried again, and its person counts once.
import type { Config } from '../../kernel/config.ts'
import { openWindowsAmong } from '../../lanes/messages/inbound.ts'
import type { Names } from '../../model/people/person.ts'
import { campaignsRest } from '../../portfolios/campaigns-rest.ts'
import {
  type Counted,
  checkProviderRules,
  hasActiveRules,
  noteResting,
  type RuleVerdict,
} from '../../portfolios/rules.ts'
import type { Redis } from '../../redis/connect.ts'
import { observerOf } from '../../redis/observe.ts'
import type { Outgoing } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** A person may raise the limit, and a place may become free: campaigns that wait for that check again after this. */
const MOST_REST_MS = 10_000
/** The same for a transactional message, which checks by itself. */
const MOST_PUT_OFF_MS = 60_000

/** Which of some messages may leave. */
export interface RuleCheck {
  /** The counts for those that may. */
  counted: ReadonlyMap<Outgoing, Counted>
  /** Those that are to be claimed no sooner than then (epoch ms). */
  putOff: ReadonlyMap<Outgoing, number>
  /** Those that wait until campaigns may send again. */
  resting: ReadonlySet<Outgoing>
  /** How long campaigns send nothing; undefined while they may. */
  restMs: number | undefined
}

/** Checks all messages of a step at once, with the names of their people; most need no check. */
export async function checkRulesAmong(
  { redis, config: { mostHeld } }: { redis: Redis; config: Pick<Config, 'mostHeld'> },
  { rules }: DirectoryEntry,
  messages: readonly Outgoing[],
  marketing: ReadonlySet<Outgoing>,
  namesOf: (message: Outgoing) => Names,
): Promise<RuleCheck> {
  const counted = new Map<Outgoing, Counted>()
  const putOff = new Map<Outgoing, number>()
  const resting = new Set<Outgoing>()
  // Its collections are filled below.
  const withoutRest: RuleCheck = { counted, putOff, resting, restMs: undefined }
  const isCounted = (rules.portfolio?.dailyLimit ?? null) !== null
  const isCampaign = ({ message }: Outgoing): boolean => message.class === 'campaign'
  const isTemplate = ({ message }: Outgoing): boolean => isCounted && message.type === 'template'
  const of = messages.filter((each) => isCampaign(each) || isTemplate(each) || marketing.has(each))
  const [first] = of
  if (first === undefined) return withoutRest
  const { lane } = first.id
  const templates = of.filter(isTemplate)
  const people = templates.map(namesOf)
  // Sent in one write, together with the other reads before a claim.
  const [open, isAsked, rest] = await Promise.all([
    openWindowsAmong(redis, lane, people),
    isCounted || hasActiveRules(redis, rules),
    of.some(isCampaign) ? campaignsRest(redis, lane) : undefined,
  ])
  if (rest !== undefined) for (const each of of.filter(isCampaign)) resting.add(each)
  const asked = of.filter((each) => !resting.has(each))
  const opens = new Set(templates.filter((_each, i) => !open.has(i)))
  const asks = asked.map((each) => ({
    name: each.name,
    names: namesOf(each),
    isMarketing: marketing.has(each),
    isCampaign: isCampaign(each),
    opensConversation: opens.has(each),
  }))
  const verdicts = isAsked ? await checkProviderRules(redis, rules, asks, { mostHeld }) : []
  let refusal: Exclude<RuleVerdict, { verdict: 'ok' }> | undefined
  for (const [i, ruled] of verdicts.entries()) {
    const each = asked[i]
    if (each === undefined) continue
    if (ruled.verdict === 'ok') {
      const { counted: isNew, hasHeldPlace } = ruled
      if (isNew || hasHeldPlace)
        counted.set(each, { name: each.name, names: namesOf(each), counted: isNew, hasHeldPlace })
      continue
    }
    observerOf(redis).ruleWaits({ lane: each.id.lane, class: each.message.class, why: ruled.verdict })
    if (ruled.verdict === 'person_capped') {
      putOff.set(each, ruled.untilMs)
    } else if (isCampaign(each)) {
      resting.add(each)
      refusal = ruled
    } else {
      // By the clock of Redis, as the claim has it.
      const { untilMs, waitMs } = ruled
      putOff.set(each, untilMs - Math.max(0, waitMs - MOST_PUT_OFF_MS))
    }
  }
  const waitMs = rest?.leftMs ?? refusal?.waitMs
  if (waitMs === undefined) return withoutRest
  const restMs = Math.max(1, Math.min(waitMs, MOST_REST_MS))
  // For lookups of why nothing leaves; nothing else reads it.
  if (refusal !== undefined) await noteResting(redis, rules, refusal, restMs)
  return { counted, putOff, resting, restMs }
}
