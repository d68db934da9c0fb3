// Reads a change of a webhook that is not about messages. A field that is unknown, or not as WhatsApp documents it, is
// reported by its shape: the names of its fields, without their content.
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import type { AccountUpdate, AccountUpdateField, FieldUpdate } from './account-updates.ts'
import type { Preference } from './cloud-preferences.ts'
import { problemOf, reportedError } from './cloud-statuses.ts'
import * as ofAccount from './updates-of-accounts.ts'
import * as ofTemplates from './updates-of-templates.ts'
import { constant, metadata, plainText, spare, webhookTime } from './webhook-fields.ts'

const READERS: Readonly<Record<AccountUpdateField, z.ZodType<FieldUpdate>>> = {
  message_template_status_update: ofTemplates.status,
  message_template_quality_update: ofTemplates.quality,
  message_template_components_update: ofTemplates.components,
  template_category_update: ofTemplates.category,
  phone_number_quality_update: ofAccount.phoneQuality,
  phone_number_name_update: ofAccount.phoneName,
  account_update: ofAccount.account,
  account_alerts: ofAccount.alerts,
  account_review_update: ofAccount.review,
  business_capability_update: ofAccount.capability,
  security: ofAccount.security,
}
const readers = new Map<string, z.ZodType<FieldUpdate>>(Object.entries(READERS))

/** An account update before its accounts are known. `atMs`: set where its items have a time and its entry has none. */
export type Read = Omit<AccountUpdate, 'wabaId' | 'atMs'> & { atMs?: number | undefined }

/** The meaning of a field; by its shape alone if the field is unknown. */
export function readAccountUpdate(field: string, value: unknown): Read {
  const meaning = readers.get(field)?.safeParse(value).data
  if (meaning !== undefined) return { field, isKnown: true, ...meaning }
  const named = /^[a-z][a-z_]{0,63}$/.test(field) ? field : 'other'
  const { data } = z.object({ event: spare(constant), metadata: spare(metadata) }).safeParse(value)
  return {
    field: named,
    isKnown: false,
    event: data?.event,
    sentence: `WhatsApp reported something about “${named}” that Laneway does not know.`,
    details: { holds: shapeOf(value) },
    changes: [],
    ...(data?.metadata && { phoneNumberId: data.metadata.phone_number_id }),
  }
}

/** Items of a list that are read: there is one, or there are clicks of many people. */
const ITEMS_MAX = 1_000
const list = spare(z.array(z.unknown()).transform((items) => items.slice(0, ITEMS_MAX)))
const reported = z.object({ metadata: spare(metadata), errors: list, user_actions: list })
const action = z.object({ action_type: constant, timestamp: spare(webhookTime) })

/** The updates of the number itself in a change of messages: faults at WhatsApp, and people's clicks on our links. */
export function* numberUpdates(value: object): Generator<Read> {
  const { metadata: about, errors = [], user_actions: actions = [] } = reported.parse(value)
  const rest = { isKnown: true, changes: [], ...(about && { phoneNumberId: about.phone_number_id }) }
  for (const error of errors.slice(0, 20).flatMap((raw) => reportedError.safeParse(raw).data ?? [])) {
    const problem = problemOf(error)
    const sentence = plainText.parse(problem.sentence)
    yield { ...rest, field: 'errors', event: problem.code, sentence, details: {}, problem }
  }
  if (actions.length === 0) return
  const counts = new Map<string, number>()
  const read = actions.map((raw) => action.safeParse(raw).data)
  for (const each of read) {
    const type = each?.action_type ?? 'unreadable'
    if (counts.size < 20 || counts.has(type)) counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  const sentence = `People acted on messages of this number: ${actions.length}.`
  const [first] = counts.keys()
  const atMs = latest(read.map((each) => each?.timestamp))
  yield { ...rest, field: 'user_actions', event: first, sentence, details: Object.fromEntries(counts), atMs }
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** That people stopped or resumed advertising, by how many. Undefined for nobody. */
export function preferenceUpdate(phoneNumberId: string, preferences: readonly Preference[]): Read | undefined {
  if (preferences.length === 0) return undefined
  const stopped = preferences.filter(({ intent }) => intent === 'stop').length
  const resumed = preferences.length - stopped
  return {
    field: 'user_preferences',
    isKnown: true,
    event: resumed === 0 ? 'stop' : stopped === 0 ? 'resume' : 'both',
    sentence: `Advertising was stopped by ${stopped} and resumed by ${resumed} people.`,
    details: { stopped, resumed },
    changes: [],
    phoneNumberId,
    atMs: latest(preferences.map(({ atMs }) => atMs)),
  }
}

/** Longest shape that is reported, parts of a value that are read, and how deep. */
const SHAPE_MAX = 500
const PARTS_MAX = 100
const DEPTH_MAX = 4

/** The names of what a value holds, such as `calls[].status`: only those that are written as WhatsApp writes names. */
function shapeOf(value: unknown): string {
  const paths = new Set<string>()
  let parts = 0
  const visit = (part: unknown, path: string, depth: number): void => {
    parts += 1
    if (parts > PARTS_MAX) return
    const isOpen = typeof part === 'object' && part !== null && depth < DEPTH_MAX
    if (!isOpen) {
      paths.add(path)
      return
    }
    if (Array.isArray(part)) {
      visit(part[0], `${path}[]`, depth + 1)
      return
    }
    for (const [name, inner] of Object.entries(part).slice(0, PARTS_MAX)) {
      const shown = /^[a-z][a-z_]{0,63}$/.test(name) ? name : '*'
      visit(inner, path === '' ? shown : `${path}.${shown}`, depth + 1)
    }
  }
  visit(value, '', 0)
  return cutText([...paths].join(' '), SHAPE_MAX)
}
