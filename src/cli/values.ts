// What people may type as the value of an option or argument, as zod schemas that say in words what they expect.
import { z } from 'zod'
import { isServerAddress, MAX_RATE, MIN_RATE } from '../accounts/sender.ts'
import { PERMISSIONS, type Permission, permissionSchema } from '../accounts/store/credentials.ts'
import { quoted } from '../messages/fault.ts'
import { parsePhone } from '../messages/recipient.ts'
import { parseDuration } from './duration.ts'

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
    const typedWords = [...new Set(text.split(',').map((word) => word.trim()))]
    const known = typedWords.flatMap((each) => words.find((word) => word === each) ?? [])
    return known.length === typedWords.length ? known : undefined
  })
}

const wholeNumber = (text: string): number | undefined => {
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}

export const accountId = parser('the number of an account, see `accounts list`', wholeNumber)

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
    return name !== '' && name.length <= longest && !/\p{Cc}/u.test(name) ? name : undefined
  })

/** The address of a provider's server. */
export const httpAddress = parser('an address that begins with http:// or https://', (text) =>
  isServerAddress(text) ? text : undefined,
)

export const laneId = parser('the number of a lane, see `lanes list`', wholeNumber)

/** A sender, and with it its lane, as people name it; which one that is, sender-named.ts knows. */
export const senderName = nameUpTo(255)

/** The same of several, separated by commas. */
export const senderNames = parser('senders by their numbers, names or ids, separated by commas', (text) => {
  const words = text.split(',').map((word) => word.trim())
  return words.every((word) => word !== '' && word.length <= 255) ? words : undefined
})

/** Messages per second. */
export const rate = parser(`messages per second, from a message a minute to ${MAX_RATE}`, (text) => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  return value >= MIN_RATE && value <= MAX_RATE ? value : undefined
})

/** A time with its zone; read as epoch ms. */
export const instant = parser('a time such as 2026-03-01T12:00:00Z', (text) => {
  const parsed = z.iso.datetime({ offset: true }).safeParse(text)
  return parsed.success ? Date.parse(text) : undefined
})

/** `messages:send,messages:read`; each permission once, in the order typed. */
export const permissionList = parser(
  `permissions separated by commas, of ${PERMISSIONS.join(', ')}`,
  (text): Permission[] | undefined => {
    const parsed = z
      .array(permissionSchema)
      .min(1)
      .safeParse(text.split(',').map((word) => word.trim()))
    return parsed.success ? [...new Set(parsed.data)] : undefined
  },
)
