// What people may type as the value of an option or argument, as zod schemas that say in words what they expect.
import { z } from 'zod'
import { PERMISSIONS, type Permission, permissionSchema } from '../accounts/credentials.ts'
import { quoted } from '../kernel/fault.ts'
import { parseDuration } from '../kernel/moment.ts'
import { parseListedPerson, parsePhone } from '../kernel/recipient.ts'
import { isVisible } from '../kernel/visible.ts'
import { REQUEUE_STATES } from '../messages/requeue/filter.ts'
import { isServerAddress, MAX_RATE, MIN_RATE } from '../model/accounts/sender.ts'
import { LIMITS } from '../model/messages/limits.ts'
import { flag, option } from './verb.ts'

/** A typed value: `expected` in words, and how to read it; undefined is refused. */
export function parser<T>(expected: string, read: (text: string) => T | undefined) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue(`expected ${expected}, got ${quoted(text)}`)
    return z.NEVER
  })
}

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[]) {
  return parser(`one of ${words.join(', ')}`, (text) => words.find((word) => word === text))
}

/** One or more of a few words, separated by commas; each once, in the order typed. */
export function someOf<const T extends string>(words: readonly T[]) {
  return parser(`one or more of ${words.join(', ')}, separated by commas`, (text): T[] | undefined => {
    const known = wordsOf(text, (each) => words.find((word) => word === each))
    return known && [...new Set(known)]
  })
}

/** A whole number within bounds; `of` names what is counted. */
export const numberUpTo = (most: number, of = 'a number') =>
  parser(`${of} from 1 to ${most}`, (text) =>
    /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= most ? Number(text) : undefined,
  )

/** The option of how many entries a list shows. */
export const limitOption = (usual = 50) =>
  option(numberUpTo(1_000).default(usual), 'number', `how many to list (default: ${usual})`)

/** Words separated by commas, each read by itself; undefined when one of them cannot be. */
export const wordsOf = <T>(text: string, read: (word: string) => T | undefined): T[] | undefined => {
  const words = text.split(',')
  const found = words.flatMap((word) => read(word.trim()) ?? [])
  return found.length === words.length ? found : undefined
}

export const wholeNumber = (text: string): number | undefined => {
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}

/** The number that something was given. */
export const numberOf = (what: string) => parser(`the number of ${what}`, wholeNumber)

export const accountId = numberOf('an account, see `accounts list`')

export const duration = parser('a duration such as 90s, 30m, 1h or 7d', parseDuration)

/** Any spelling of a full international number; read as its digits. */
export const phoneNumber = parser('a full international number such as +14155550123', (text) => {
  const parsed = parsePhone(text)
  return parsed.ok ? parsed.digits : undefined
})

/** A name of something, up to `longest` characters after trimming, without control characters. */
export const nameUpTo = (longest: number) =>
  parser(`a name of 1 to ${longest} characters`, (text) => {
    const name = text.trim()
    return isVisible(name) && name.length <= longest && !/\p{Cc}/u.test(name) ? name : undefined
  })

/** The address of a provider's server. */
export const httpAddress = parser('an address that begins with http:// or https://', (text) =>
  isServerAddress(text) ? text : undefined,
)

export const laneId = numberOf('a lane, see `lanes list`')

/** A sender, and with it its lane, as people name it; `senderNamed` finds it. */
export const senderName = nameUpTo(255)

/** The same of several, separated by commas. */
export const senderNames = parser('senders by their numbers, names or ids, separated by commas', (text) =>
  wordsOf(text, (word) => (word !== '' && word.length <= 255 ? word : undefined)),
)

/** A phone number, a user id, or what else lists show of a person. */
export const person = parser(
  'a full international number such as +14155550123, or the id of a person',
  parseListedPerson,
)

/** Messages per second. */
export const rate = parser(`messages per second, from a message a minute to ${MAX_RATE}`, (text) => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  return value >= MIN_RATE && value <= MAX_RATE ? value : undefined
})

/** A time, read as epoch ms. The placeholder of such an option or argument is `time`: `verb` gives it its zone. */
export const instant = parser(
  'a time such as 2026-03-01T12:00:00Z, 2026-03-01T13:00, 2026-03-01, yesterday, 24h (ago) or +24h',
  (text) => {
    const parsed = z.iso.datetime({ offset: true }).safeParse(text)
    return parsed.success ? Date.parse(text) : undefined
  },
)

/** `messages:send,messages:read`; each permission once, in the order typed. */
export const permissionList = parser(
  `permissions separated by commas, of ${PERMISSIONS.join(', ')}`,
  (text): Permission[] | undefined => {
    const known = wordsOf(text, (word) => permissionSchema.safeParse(word).data)
    return known && [...new Set(known)]
  },
)

const CLASSES = ['transactional', 'campaign'] as const

/** What messages can be found by, whether they are listed or requeued. */
export const findBy = {
  account: option(accountId.optional(), 'id', 'only those of one account'),
  sender: option(senderName.optional(), 'sender', 'only those of one sender, by its number, name or id'),
  class: option(oneOf(CLASSES).optional(), 'class', `one of ${CLASSES.join(', ')}`),
  campaign: option(nameUpTo(255).optional(), 'id', 'only those of one campaign (cmp_1_2), or with this campaign_id'),
  reference: option(nameUpTo(LIMITS.reference).optional(), 'text', 'only those with this reference'),
  code: option(nameUpTo(100).optional(), 'code', 'only those with this problem code'),
}

/** What `messages requeue` takes: the id of one message, or what they are found by. */
export const requeueValues = {
  id: z.string().optional(),
  ...findBy,
  to: option(phoneNumber.optional(), 'number', 'only those to one recipient'),
  state: option(
    oneOf(REQUEUE_STATES).optional(),
    'state',
    `one of ${REQUEUE_STATES.join(', ')}; unknown messages are flagged possible duplicate`,
  ),
  since: option(instant.optional(), 'time', 'only those that ended at or after this time'),
  until: option(instant.optional(), 'time', 'only those that ended at or before this time'),
  all: flag('all of them, when no filter is given'),
  dryRun: flag('only count them'),
  detach: flag('do not wait until it is done'),
  yes: flag('do not ask before messages of several accounts are sent again'),
}
