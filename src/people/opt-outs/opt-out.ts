// An opt-out, as it is shown: a person wants no advertising of an account.
import { z } from 'zod'

/**
 * `word`: they wrote one of the account's stop words. `provider`: WhatsApp said so when a message was sent to
 * them. `http`, `cli`: somebody of the account wrote it down.
 */
export const OPT_OUT_SOURCES = ['word', 'provider', 'http', 'cli'] as const
export type OptOutSource = (typeof OPT_OUT_SOURCES)[number]

export const optOutSchema = z.strictObject({
  person: z.string().describe('Digits, or the id of a person without a number.'),
  source: z
    .enum(OPT_OUT_SOURCES)
    .describe('`word`: they wrote a stop word. `provider`: WhatsApp said so. Else who wrote it down.'),
  since: z.iso.datetime(),
})
optOutSchema.register(z.globalRegistry, { id: 'OptOut' })
export type OptOut = z.infer<typeof optOutSchema>

// The words by which a person stops what an account advertises, and lets it write again. Pure.

/** What was written as a word by itself: letters and figures in lower case, without the signs around them. */
const bare = (text: string): string =>
  text
    .normalize('NFKC')
    .trim()
    .replace(/^[\p{P}\p{S}\s]+|[\p{P}\p{S}\s]+$/gu, '')
    .toLowerCase()

/** Longest text that is looked at: a word is shorter, and its case can be folded at once. */
const TEXT_MAX = 100

/** The words of a setting, separated by commas; none of an empty one. */
export const wordsOf = (setting: string): string[] => setting.split(',').map(bare).filter(Boolean)

/**
 * What a received text asks for: it must be one of the words and nothing else, whatever its case and the signs around it.
 * A word that stands in both settings stops.
 */
export function keywordIntent(
  text: string,
  { stop, start }: { stop: string; start: string },
): 'stop' | 'start' | undefined {
  if (text.length > TEXT_MAX) return undefined
  const said = bare(text)
  if (said === '') return undefined
  if (wordsOf(stop).includes(said)) return 'stop'
  return wordsOf(start).includes(said) ? 'start' : undefined
}
