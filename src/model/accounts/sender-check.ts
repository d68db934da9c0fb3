// The findings of a check of a sender: for each thing that WhatsApp can be asked, its state in one sentence and what to do. Pure:
// gets the answers as data.
import { z } from 'zod'
import { isSameNumber } from '../../kernel/national-forms.ts'
import { DAY_MS, HOUR_MS } from '../../kernel/time-units.ts'

const findingSchema = z
  .strictObject({
    what: z.string().describe('What was checked, such as `token` or `webhook_subscription`.'),
    state: z
      .enum(['good', 'warning', 'missing', 'unknown'])
      .describe(
        '`missing`: nothing is sent, or nothing comes back, before it is mended; `unknown`: it cannot be asked.',
      ),
    sentence: z.string(),
    do: z.string().nullable().describe('What to do about it.'),
  })
  .meta({ id: 'SenderFinding' })
export type Finding = z.infer<typeof findingSchema>

export const senderCheckSchema = z
  .strictObject({
    sender: z.int(),
    checked_at: z.iso.datetime(),
    ok: z.boolean().describe('Whether nothing is missing.'),
    findings: z.array(findingSchema),
  })
  .meta({ id: 'SenderCheck' })
export type SenderCheck = z.infer<typeof senderCheckSchema>

/** An answer of WhatsApp, or why there is none. */
export type Asked<T> =
  | { kind: 'known'; value: T }
  | { kind: 'refused'; code: number | undefined; says: string }
  /** Asked too often, or no answer: `cause` is a word. */
  | { kind: 'unanswered'; cause: string }

/** WhatsApp's answers. A field is undefined where WhatsApp left it out. */
export interface ProviderFacts {
  token: Asked<{
    appId: string | undefined
    isValid: boolean
    /** Epoch ms; undefined: it does not end. */
    endsAtMs: number | undefined
    scopes: readonly string[]
    /** Accounts that a scope is granted for; a scope that is missing here is granted for all. */
    only: ReadonlyMap<string, readonly string[]>
  }>
  number: Asked<{
    digits: string | undefined
    verifiedName: string | undefined
    nameStatus: string | undefined
    status: string | undefined
    platform: string | undefined
    codeVerification: string | undefined
    quality: string | undefined
    throughput: string | undefined
    limit: string | undefined
    canSend: string | undefined
    /** WhatsApp's own sentences of what keeps it from sending. */
    obstacles: readonly string[]
  }>
  /** Undefined where the account at WhatsApp is not known. */
  account: Asked<{ review: string | undefined; verification: string | undefined }> | undefined
  numbers: Asked<readonly string[]> | undefined
  /** How many of a first page of templates are approved. */
  templates: Asked<{ all: number; approved: number }> | undefined
  apps: Asked<readonly string[]> | undefined
}

/** The sender as Laneway stores it. */
export interface CheckedSender {
  id: number
  number: string
  phoneNumberId: string
  wabaId: string
  rate: number
  hasPortfolio: boolean
}

const good = (what: string, sentence: string): Finding => ({ what, state: 'good', sentence, do: null })
const warning = (what: string, sentence: string, todo: string): Finding => ({
  ...{ what, state: 'warning', sentence },
  do: todo,
})
const missing = (what: string, sentence: string, todo: string): Finding => ({
  ...{ what, state: 'missing', sentence },
  do: todo,
})
const unknown = (what: string, sentence: string, todo: string | null = null): Finding => ({
  ...{ what, state: 'unknown', sentence },
  do: todo,
})

/** The findings for a sender of the Cloud API, in the order of its setup. */
export function findingsOf(sender: CheckedSender, facts: ProviderFacts, nowMs: number): Finding[] {
  return [
    ...ofToken(sender, facts, nowMs),
    ...ofNumber(sender, facts),
    ...ofAccount(sender, facts),
    ...ofTemplates(facts),
    ...ofWebhooks(facts, sender),
  ]
}

const NEW_TOKEN = 'Make a token of a system user that never ends, and give it with `senders renew`.'
const GIVE_ACCOUNT =
  'Give the system user the app and the WhatsApp Business Account with full control, and make a new token.'

/** Why there is no answer, as a finding; `todo` where WhatsApp refused it. */
function notKnown(what: string, asked: Exclude<Asked<unknown>, { kind: 'known' }>, todo: string): Finding {
  if (asked.kind === 'unanswered') {
    return asked.cause === 'throttled'
      ? unknown(what, 'WhatsApp throttles requests at the moment.', 'Check again in some minutes.')
      : unknown(what, `WhatsApp gave no answer (${asked.cause}).`, 'Check the address of the sender and the network.')
  }
  if (asked.code === 190) return missing(what, 'WhatsApp does not take the token.', NEW_TOKEN)
  return missing(what, `WhatsApp refuses it${asked.says === '' ? '.' : `: ${asked.says}`}`, todo)
}

/** Which webhooks came lately; see accounts/webhook-arrivals.ts. */
interface CameLately {
  lastGoodAtMs: number | null
  refusedLastHour: number
  refusedLastDay: number
}

/** The finding about incoming webhooks, for a sender whose account can verify them. */
export function webhooksFinding(account: number, came: CameLately, nowMs: number): Finding {
  const what = 'webhooks'
  const { lastGoodAtMs: goodAt, refusedLastHour: ofHour, refusedLastDay: ofDay } = came
  const last =
    goodAt === null
      ? 'none with a right one came within 30 days'
      : `the last with a right one came at ${minuteOf(goodAt)} UTC`
  if (ofDay === 0) {
    return goodAt === null
      ? unknown(what, 'No webhook has come within 30 days.', 'Send a message to yourself, and check again.')
      : good(what, `The last webhook came at ${minuteOf(goodAt)} UTC.`)
  }
  const refused = `${ofHour} webhooks of the last hour and ${ofDay} of the last day had a wrong signature and were refused; ${last}.`
  const goodSince = nowMs - (ofHour > 0 ? HOUR_MS : DAY_MS)
  const todo =
    'Give the app secret of the app that sends them: ' +
    `\`accounts set ${account} webhook.app_secret -\`, or LANEWAY_CLOUD_API_APP_SECRET.`
  return goodAt === null || goodAt < goodSince
    ? missing(what, refused, todo)
    : warning(what, refused, 'If a second app of yours sends them, add its app secret; else somebody forges them.')
}

const minuteOf = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ')

const SCOPES = ['whatsapp_business_messaging', 'whatsapp_business_management'] as const

function ofToken({ wabaId }: CheckedSender, { token, number }: ProviderFacts, nowMs: number): Finding[] {
  if (token.kind !== 'known') {
    if (token.kind === 'refused' && token.code !== 190 && number.kind === 'known') {
      return [unknown('token', 'The token works; WhatsApp does not tell when it ends and what it may do.')]
    }
    return [notKnown('token', token, NEW_TOKEN)]
  }
  const { isValid, endsAtMs, scopes, only } = token.value
  if (!isValid) return [missing('token', 'WhatsApp says that the token is not valid.', NEW_TOKEN)]
  const ends = endsAtMs === undefined ? undefined : minuteOf(endsAtMs)
  const life =
    endsAtMs === undefined
      ? good('token', 'The token is valid and does not end.')
      : endsAtMs <= nowMs
        ? missing('token', `The token ended at ${ends} UTC.`, NEW_TOKEN)
        : warning(
            'token',
            `The token ends at ${ends} UTC${endsAtMs < nowMs + DAY_MS ? ', within a day' : ''}; nothing is sent after that.`,
            NEW_TOKEN,
          )
  const lacks = SCOPES.filter((scope) => !scopes.includes(scope))
  const elsewhere = SCOPES.filter((scope) => wabaId !== '' && only.get(scope)?.includes(wabaId) === false)
  if (lacks.length > 0) {
    return [life, missing('permissions', `The token lacks the permission ${lacks.join(' and ')}.`, GIVE_ACCOUNT)]
  }
  if (elsewhere.length > 0) {
    const sentence = `The token has ${elsewhere.join(' and ')}, but not for the account ${wabaId}.`
    return [life, missing('permissions', sentence, GIVE_ACCOUNT)]
  }
  return [life, good('permissions', 'The token may send messages and read templates.')]
}

type NumberFacts = Extract<ProviderFacts['number'], { kind: 'known' }>['value']

function ofNumber(sender: CheckedSender, { number }: ProviderFacts): Finding[] {
  if (number.kind !== 'known') {
    const todo = `Check the phone number id ${sender.phoneNumberId}; it is not the number itself. ${GIVE_ACCOUNT}`
    return [notKnown('number', number, todo)]
  }
  const facts = number.value
  return [
    registration(sender, facts),
    ...(facts.canSend === undefined ? [] : [health(facts)]),
    nameOf(facts),
    qualityOf(facts),
    throughputOf(sender, facts),
    limitOf(sender, facts),
  ]
}

function registration({ number, phoneNumberId }: CheckedSender, facts: NumberFacts): Finding {
  const { digits, status, platform, codeVerification } = facts
  if (digits !== undefined && !isSameNumber(digits, number)) {
    return missing(
      'number',
      `The phone number id ${phoneNumberId} belongs to another number, which ends in ${digits.slice(-4)}.`,
      'Remove the sender, and add it with the id that WhatsApp shows for its number.',
    )
  }
  const register = `Register it with a PIN: POST /${phoneNumberId}/register, see docs/guides/whatsapp.md.`
  if (status === undefined)
    return unknown('number', 'WhatsApp knows the number, but does not tell whether it is registered.')
  if (status !== 'CONNECTED') {
    const isBanned = ['BANNED', 'RESTRICTED', 'DELETED', 'MIGRATED'].includes(status)
    const todo = isBanned ? 'See the number in WhatsApp Manager; WhatsApp’s support can help.' : register
    return missing('number', `The number is not ready to send: its status is ${status}.`, todo)
  }
  if (platform !== undefined && platform !== 'CLOUD_API') {
    return missing('number', `The number is not registered for the Cloud API, but ${platform}.`, register)
  }
  if (codeVerification === 'NOT_VERIFIED') {
    return missing('number', 'The number is not verified.', 'Verify it by SMS or call in WhatsApp Manager.')
  }
  return good('number', 'The number is registered and connected.')
}

function health({ canSend, obstacles }: NumberFacts): Finding {
  if (canSend === 'AVAILABLE') return good('health', 'WhatsApp says that it can send.')
  const why = obstacles.length === 0 ? '' : `: ${obstacles.join(' ')}`
  const todo = 'Mend that in WhatsApp Manager; a missing payment method is the usual reason.'
  return canSend === 'BLOCKED'
    ? missing('health', `WhatsApp says that it cannot send${why}`, todo)
    : warning('health', `WhatsApp says that it can send only in part (${canSend})${why}`, todo)
}

function nameOf({ nameStatus, verifiedName }: NumberFacts): Finding {
  const name = verifiedName === undefined ? 'The name that people see' : `The name “${verifiedName}”`
  if (nameStatus === undefined) return unknown('name', `${name}: WhatsApp does not tell whether it is approved.`)
  if (nameStatus === 'APPROVED' || nameStatus === 'AVAILABLE_WITHOUT_REVIEW')
    return good('name', `${name} is approved.`)
  const todo = 'Choose a name that follows WhatsApp’s rules, in WhatsApp Manager.'
  if (nameStatus === 'PENDING_REVIEW') return warning('name', `${name} is being reviewed.`, 'Wait; it takes some days.')
  return warning('name', `${name} is ${nameStatus}: WhatsApp limits what the number may send.`, todo)
}

function qualityOf({ quality }: NumberFacts): Finding {
  if (quality === 'GREEN') return good('quality', 'People like its messages: quality GREEN.')
  const todo = 'Send less, and only to people who asked for it.'
  if (quality === 'YELLOW') return warning('quality', 'Some people block or report it: quality YELLOW.', todo)
  if (quality === 'RED') return warning('quality', 'Many people block or report it: quality RED.', todo)
  return unknown('quality', 'WhatsApp has not rated its quality yet.')
}

/** Messages per second of each throughput level of WhatsApp. */
const RATES: Readonly<Record<string, number>> = { STANDARD: 80, HIGH: 1_000 }

function throughputOf({ id, rate }: CheckedSender, { throughput }: NumberFacts): Finding {
  const allowed = RATES[throughput ?? '']
  if (allowed === undefined) return unknown('throughput', 'WhatsApp does not tell how many messages a second it takes.')
  if (rate > allowed) {
    const sentence = `WhatsApp takes ${allowed} messages a second, and the sender is set to ${rate}.`
    return warning('throughput', sentence, `\`lanes rate ${id} ${allowed}\``)
  }
  return good('throughput', `WhatsApp takes ${allowed} messages a second; the sender is set to ${rate}.`)
}

function limitOf({ id, hasPortfolio }: CheckedSender, { limit }: NumberFacts): Finding {
  if (limit === undefined)
    return unknown('limit', 'WhatsApp does not tell how many people it may write to first in a day.')
  if (/UNLIMITED/.test(limit)) return good('limit', 'It may write to any number of people first.')
  const [, figure, unit] = /^TIER_(\d{1,9})(K|M)?$/.exec(limit) ?? []
  const people = Number(figure) * (unit === 'K' ? 1_000 : unit === 'M' ? 1_000_000 : 1)
  if (figure === undefined) return unknown('limit', `WhatsApp’s limit for people in a day: ${limit}.`)
  const sentence = `Its business may write to ${people.toLocaleString('en')} people first in 24 hours, over all of its numbers.`
  if (hasPortfolio) return good('limit', sentence)
  const todo = `\`portfolios create\` with that limit, then \`senders set ${id} portfolio <id>\`: campaigns then keep to it.`
  return warning('limit', sentence, todo)
}

function ofAccount({ id, wabaId, phoneNumberId }: CheckedSender, { account, numbers }: ProviderFacts): Finding[] {
  if (account === undefined) {
    const todo = `\`senders set ${id} waba_id <id>\`, with the id that API Setup shows.`
    return [missing('account', 'The WhatsApp Business Account of the sender is not known to Laneway.', todo)]
  }
  if (account.kind !== 'known') return [notKnown('account', account, `Check \`waba_id\` ${wabaId}. ${GIVE_ACCOUNT}`)]
  const { review, verification } = account.value
  const isElsewhere = numbers?.kind === 'known' && numbers.value.length > 0 && !numbers.value.includes(phoneNumberId)
  const belongs = isElsewhere
    ? missing('account', `The number does not belong to the account ${wabaId}.`, `\`senders set ${id} waba_id <id>\``)
    : review === undefined || review === 'APPROVED'
      ? good('account', `The number belongs to the account ${wabaId}, which can be read.`)
      : warning('account', `The review of the account ${wabaId}: ${review}.`, 'See it in WhatsApp Manager.')
  const verify =
    'Verify the business in the security center of the business portfolio; unverified ones send to few people.'
  const verified =
    verification === undefined
      ? unknown('verification', 'WhatsApp does not tell whether the business is verified.')
      : verification.toLowerCase() === 'verified'
        ? good('verification', 'The business is verified.')
        : warning('verification', `The business is not verified (${verification.toLowerCase()}).`, verify)
  return [belongs, verified]
}

function ofTemplates({ templates }: ProviderFacts): Finding[] {
  if (templates === undefined) return []
  if (templates.kind !== 'known') return [notKnown('templates', templates, GIVE_ACCOUNT)]
  const { all, approved } = templates.value
  if (approved > 0) return [good('templates', 'Templates can be read, and there are approved ones.')]
  const sentence = all === 0 ? 'The account has no template yet.' : 'No template is approved yet.'
  return [warning('templates', sentence, 'Create one in WhatsApp Manager; without it you can only answer people.')]
}

function ofWebhooks({ apps, token }: ProviderFacts, { wabaId }: CheckedSender): Finding[] {
  if (apps === undefined) return []
  const what = 'webhook_subscription'
  if (apps.kind !== 'known') return [notKnown(what, apps, GIVE_ACCOUNT)]
  const appId = token.kind === 'known' ? token.value.appId : undefined
  const subscribe = `POST /${wabaId}/subscribed_apps with the token, see docs/guides/whatsapp.md.`
  if (apps.value.length === 0)
    return [missing(what, 'No app gets the webhooks of the account: no status comes.', subscribe)]
  if (appId !== undefined && !apps.value.includes(appId)) {
    return [missing(what, 'Other apps get the webhooks of the account, but not that of the token.', subscribe)]
  }
  return appId === undefined
    ? [unknown(what, 'Some app gets the webhooks of the account; whether it is yours is not known.')]
    : [good(what, 'The app of the token gets the webhooks of the account.')]
}
