// Webhooks about an account at WhatsApp and its numbers: bans, limits, quality, names, alerts.
import { z } from 'zod'
import { DAILY_LIMIT_MAX } from '../model/portfolio.ts'
import type { Change, FieldUpdate } from './account-updates.ts'
import { constant, digitsOf, given, plainText, spare } from './webhook-fields.ts'

/** Messages per second of a number whose throughput WhatsApp has raised. */
const RAISED_RATE = 1_000

/** How many people a business may write to first in 24 hours: a tier such as `TIER_2K`, or a number; -1: any number. */
const limitSchema = z.union([z.string().max(40), z.number()]).transform((value, context): number | null => {
  const text = String(value).toUpperCase()
  if (text === 'TIER_UNLIMITED' || text === '-1') return null
  const [, figure, unit] = /^(?:TIER_)?(\d{1,9})(K|M)?$/.exec(text) ?? []
  if (figure !== undefined && Number(figure) > 0) {
    // A larger one means as much, and would spread the people who are counted over as many keys.
    return Math.min(DAILY_LIMIT_MAX, Number(figure) * (unit === 'K' ? 1_000 : unit === 'M' ? 1_000_000 : 1))
  }
  context.addIssue('no limit')
  return z.NEVER
})
const limit = spare(limitSchema)

const shown = (people: number | null): string => (people === null ? 'any number of' : people.toLocaleString('en'))
const limitChange = (value: number | null | undefined): Change[] =>
  value === undefined ? [] : [{ of: 'portfolio', group: 'limit', value }]

export const phoneQuality = z
  .object({
    display_phone_number: spare(digitsOf),
    event: constant.transform((word) => word.toUpperCase()),
    current_limit: limit,
    old_limit: limit,
    max_daily_conversations_per_business: limit,
  })
  .transform((value): FieldUpdate => {
    const { event, display_phone_number: digits, old_limit: before } = value
    const isThroughput = event === 'THROUGHPUT_UPGRADE'
    // With a throughput upgrade, `current_limit` is the throughput, not the number of people.
    const ofNumber = isThroughput ? undefined : value.current_limit
    const { max_daily_conversations_per_business: ofBusiness } = value
    const limitNow = ofBusiness === undefined ? ofNumber : ofBusiness
    const changes: Change[] = limitChange(limitNow)
    if (isThroughput) changes.push({ of: 'sender', group: 'rate', value: RAISED_RATE })
    if (event === 'FLAGGED') changes.push({ of: 'sender', group: 'quality', value: 'FLAGGED' })
    if (event === 'UNFLAGGED') changes.push({ of: 'sender', group: 'quality', value: '' })
    const then = limitNow === undefined ? '' : ` It may write to ${shown(limitNow)} people first in 24 hours.`
    const sentence = isThroughput
      ? `The number may send ${RAISED_RATE.toLocaleString('en')} messages a second.`
      : `The number is ${event}.${then}`
    const details = before === undefined ? {} : { limit_before: before ?? 'unlimited' }
    return { event, sentence, details, changes, ...(digits !== undefined && { digits }) }
  })

export const phoneName = z
  .object({
    display_phone_number: spare(digitsOf),
    decision: constant.transform((word) => word.toUpperCase()),
    requested_verified_name: spare(plainText),
    rejection_reason: spare(plainText),
  })
  .transform((value): FieldUpdate => {
    const { decision, display_phone_number: digits, requested_verified_name: name, rejection_reason: reason } = value
    const isApproved = decision === 'APPROVED' && name !== undefined
    return {
      event: decision,
      sentence: `The name ${name === undefined ? 'of the number' : `“${name}”`} is ${decision}.`,
      details: given({ reason: reason === 'NONE' ? undefined : reason }),
      changes: isApproved ? [{ of: 'sender', group: 'name', value: name }] : [],
      ...(digits !== undefined && { digits }),
    }
  })

const word = spare(constant.transform((text) => text.toUpperCase()))
const restriction = z.object({ restriction_type: word, expiration: spare(z.union([z.string(), z.number()])) })
/** Items that are read; there are a handful. */
const restrictions = spare(
  z.array(z.unknown()).transform((list) => list.slice(0, 20).flatMap((each) => restriction.safeParse(each).data ?? [])),
)
/** Some say it in a list of one. */
const banState = spare(z.union([constant, z.array(constant).transform(([first]) => first)]))

export const account = z
  .object({
    event: constant.transform((text) => text.toUpperCase()),
    phone_number: spare(digitsOf),
    ban_info: spare(z.object({ waba_ban_state: banState, waba_ban_date: spare(plainText) })),
    restriction_info: restrictions,
    violation_info: spare(z.object({ violation_type: word })),
    disconnection_info: spare(z.object({ reason: word, initiated_by: word })),
  })
  .transform((value): FieldUpdate => {
    const { event, phone_number: digits, ban_info: ban, restriction_info: limits = [] } = value
    const types = limits.flatMap(({ restriction_type: type }) => type ?? [])
    const block = blockOf(event, ban?.waba_ban_state?.toUpperCase(), types)
    const words = [event, ban?.waba_ban_state, ...types].filter((each) => each !== undefined)
    const expires = limits.map(({ expiration }) => String(expiration ?? '')).find((text) => /^\d{9,13}$/.test(text))
    return {
      event,
      sentence: `The account at WhatsApp: ${words.join(', ')}.`,
      details: given({
        ban_state: ban?.waba_ban_state,
        ban_date: ban?.waba_ban_date,
        restrictions: types.join(' ') || undefined,
        expires: expires === undefined ? undefined : isoOf(expires),
        violation: value.violation_info?.violation_type,
        disconnected: value.disconnection_info?.reason,
        by: value.disconnection_info?.initiated_by,
      }),
      changes: block === undefined ? [] : [{ of: 'sender', group: 'block', value: block }],
      ...(digits !== undefined && { digits }),
    }
  })

const isoOf = (text: string): string => new Date(Number(text) * (text.length > 10 ? 1 : 1_000)).toISOString()

/** Why its numbers may not send; empty that they may again, undefined where the event shows neither. */
function blockOf(event: string, ban: string | undefined, restricted: readonly string[]): string | undefined {
  if (event === 'DISABLED_UPDATE') {
    if (ban === 'DISABLE') return event
    return ban === 'REINSTATE' ? '' : undefined
  }
  if (event === 'ACCOUNT_RESTRICTION') {
    // A restriction of calls, or of adding numbers, stops no message.
    const stops = restricted.length === 0 || restricted.some((type) => type.includes('MESSAGING'))
    return stops ? event : undefined
  }
  if (event === 'ACCOUNT_DELETED') return event
  return event === 'ACCOUNT_REINSTATED' ? '' : undefined
}

export const alerts = z
  .object({
    entity_type: spare(constant),
    alert_info: spare(
      z.object({ alert_severity: word, alert_status: word, alert_type: word, alert_description: spare(plainText) }),
    ),
    alert_severity: word,
    alert_status: word,
    alert_type: word,
    alert_description: spare(plainText),
  })
  .transform(({ entity_type: about, alert_info: info, ...flat }) => ({ about, ...flat, ...info }))
  .refine(({ alert_type }) => alert_type !== undefined)
  .transform(({ about, alert_type: type, ...rest }): FieldUpdate => {
    const details = given({
      about,
      severity: rest.alert_severity,
      status: rest.alert_status,
      says: rest.alert_description,
    })
    return { event: type, sentence: `WhatsApp alerts: ${type}.`, details, changes: [] }
  })

export const review = z.object({ decision: constant.transform((text) => text.toUpperCase()) }).transform(
  ({ decision }): FieldUpdate => ({
    event: decision,
    sentence: `The review of the account at WhatsApp: ${decision}.`,
    details: {},
    changes: [],
  }),
)

const figure = spare(z.coerce.number<string | number>().int())

export const capability = z
  .object({
    max_daily_conversations_per_business: limit,
    /** Until 2026. */
    max_daily_conversation_per_phone: limit,
    max_phone_numbers_per_business: figure,
    max_phone_numbers_per_waba: figure,
  })
  .refine((value) => Object.values(value).some((each) => each !== undefined))
  .transform((value): FieldUpdate => {
    const { max_daily_conversations_per_business: ofBusiness, max_daily_conversation_per_phone: ofPhone } = value
    const people = ofBusiness === undefined ? ofPhone : ofBusiness
    return {
      event: undefined,
      sentence:
        people === undefined
          ? 'The business may have another number of phone numbers.'
          : `The business may write to ${shown(people)} people first in 24 hours.`,
      details: given({
        phone_numbers_of_business: value.max_phone_numbers_per_business,
        phone_numbers_of_account: value.max_phone_numbers_per_waba,
      }),
      changes: limitChange(people),
    }
  })

export const security = z
  .object({ display_phone_number: spare(digitsOf), event: constant.transform((text) => text.toUpperCase()) })
  .transform(
    ({ display_phone_number: digits, event }): FieldUpdate => ({
      event,
      sentence: `Security of the number: ${event}.`,
      details: {},
      changes: [],
      ...(digits !== undefined && { digits }),
    }),
  )
