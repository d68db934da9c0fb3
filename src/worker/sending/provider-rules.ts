// WhatsApp's own rules before a claim: whether a person has had enough marketing, whether WhatsApp holds as many messages as it
// may, whether the portfolio may write to one person more today. A message that may not leave yet waits, visibly, without
// holding up any other.
//
// A count for a message is given back when it is proven not to have left. If the process dies before that, it stays: the
// message is tried again, and its person counts once.
import type { Config } from '../../kernel/config.ts'
import { openWindowsAmong } from '../../lanes/messages/inbound.ts'
import { recordCampaignsWait } from '../../portfolios/campaign-waits.ts'
import { campaignsRest } from '../../portfolios/campaigns-rest.ts'
import { checkProviderRules, hasActiveRules, type RuleVerdict } from '../../portfolios/rules.ts'
import type { Redis } from '../../redis/connect.ts'
import { observerOf } from '../../redis/observe.ts'
import type { Candidate } from './candidate.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** A person may raise the limit, and a place may become free: campaigns that wait for that check again after this. */
const MOST_REST_MS = 10_000
/** The same for a transactional message, which checks by itself. */
const MOST_PUT_OFF_MS = 60_000

/**
 * Checks the rules for all messages of a step at once; most need no check. Sets `counted` of those that may leave,
 * `notBefore` of those that are to be claimed later and `isResting` of those that wait until campaigns may send again; returns how
 * long campaigns send nothing (ms), undefined while they may. Whether any rule is active is asked for before `naming` has set all names.
 */
export async function checkRules(
  { redis, config: { mostHeld } }: { redis: Redis; config: Pick<Config, 'mostHeld'> },
  { rules }: DirectoryEntry,
  messages: readonly Candidate[],
  naming: Promise<unknown>,
): Promise<number | undefined> {
  const isCounted = (rules.portfolio?.dailyLimit ?? null) !== null
  const isTemplate = ({ message }: Candidate): boolean => isCounted && message.type === 'template'
  const concerned = messages.filter((each) => !each.isTransactional || each.isMarketing || isTemplate(each))
  const [first] = concerned
  if (first === undefined) return undefined
  const { lane } = first.id
  const templates = concerned.filter(isTemplate)
  // Sent in one write, together with the other reads before a claim.
  const [isAsked, rest] = await Promise.all([
    isCounted || hasActiveRules(redis, rules),
    concerned.some(({ isTransactional }) => !isTransactional) ? campaignsRest(redis, lane) : undefined,
    naming,
  ])
  const open = await openWindowsAmong(
    redis,
    lane,
    templates.map(({ allNames }) => allNames),
  )
  for (const each of concerned) each.isResting = rest !== undefined && !each.isTransactional
  const asked = concerned.filter(({ isResting }) => !isResting)
  const opens = new Set(templates.filter((_each, i) => !open.has(i)))
  const askOf = (each: Candidate) => ({
    name: each.name,
    names: each.allNames,
    isMarketing: each.isMarketing,
    isCampaign: !each.isTransactional,
    opensConversation: opens.has(each),
  })
  const verdicts = isAsked ? await checkProviderRules(redis, rules, asked.map(askOf), { mostHeld }) : []
  let refusal: Exclude<RuleVerdict, { verdict: 'ok' }> | undefined
  for (const [i, ruled] of verdicts.entries()) {
    const each = asked[i]
    if (each === undefined) continue
    if (ruled.verdict === 'ok') {
      const { counted: isNew, hasHeldPlace } = ruled
      if (isNew || hasHeldPlace) each.counted = { name: each.name, names: each.allNames, counted: isNew, hasHeldPlace }
      continue
    }
    observerOf(redis).ruleWaits({ lane: each.id.lane, class: each.message.class, why: ruled.verdict })
    if (ruled.verdict === 'person_capped') {
      each.notBefore = ruled.untilMs
    } else if (!each.isTransactional) {
      each.isResting = true
      refusal = ruled
    } else {
      // By the clock of Redis, as the claim has it.
      const { untilMs, waitMs } = ruled
      each.notBefore = untilMs - Math.max(0, waitMs - MOST_PUT_OFF_MS)
    }
  }
  const waitMs = rest?.leftMs ?? refusal?.waitMs
  if (waitMs === undefined) return undefined
  const restMs = Math.max(1, Math.min(waitMs, MOST_REST_MS))
  // For lookups of why nothing leaves; nothing else reads it.
  if (refusal !== undefined) await recordCampaignsWait(redis, rules, refusal, restMs)
  return restMs
}
