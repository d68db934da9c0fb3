// What people may type as the value of an option or argument, as zod schemas that say in words what they expect.
import { z } from 'zod'
import { quoted } from '../kernel/fault.ts'
import { isVisible } from '../kernel/visible.ts'

/** A typed value: `expected` in words, and how to read it; undefined is refused. */
function parser<T>(expected: string, read: (text: string) => T | undefined) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue(`expected ${expected}, got ${quoted(text)}`)
    return z.NEVER
  })
}

const wholeNumber = (text: string): number | undefined => {
  const value = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}

/** The number that something was given. */
const numberOf = (what: string) => parser(`the number of ${what}`, wholeNumber)

export const accountId = numberOf('an account, see `accounts list`')
export const laneId = numberOf('a lane, see `lanes list`')

/** A sender, and with it its lane, as people name it; `senderNamed` finds it. */
export const senderName = parser('a name of 1 to 255 characters', (text) => {
  const name = text.trim()
  return isVisible(name) && name.length <= 255 && !/\p{Cc}/u.test(name) ? name : undefined
})

/** A time, read as epoch ms. The placeholder of such an option or argument is `time`: `verb` gives it its zone. */
export const instant = parser(
  'a time such as 2026-03-01T12:00:00Z, 2026-03-01T13:00, 2026-03-01, yesterday, 24h (ago) or +24h',
  (text) => {
    const parsed = z.iso.datetime({ offset: true }).safeParse(text)
    return parsed.success ? Date.parse(text) : undefined
  },
)
