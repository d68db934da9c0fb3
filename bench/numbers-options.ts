// What can be asked of the scenario `numbers`: how many there are, what they send, and in which world.
import { z } from 'zod'
import { typedNumber, typedWholeNumber } from './command-line.ts'
import { typedAnswerTime } from './provider-contract.ts'
import { WA_IDS } from './wa-ids.ts'

export const NUMBERS_HELP = `of numbers:
  --numbers <n>        how many there are (default 30)
  --pace <n>           messages a second of each, 0 for no limit (default 80)
  --kind <k>           single messages, or a campaign for each number (default single)
  --category <c>       marketing, utility, or both by turns: what their templates are (default marketing)
  --answer-ms <t>      time until the provider answers, ms, or lognormal:200,3000 with 5 % of the answers below and
                       above (default 300)
  --wa-id <how>        how it writes whom a message went to: plain (digits), plus (+49…), spaced (blanks, or 00 in
                       front), or mixed (default plain)
  --tls <how>          none, h1 or h2 (default none)
  --busy <n>           processes beside it that compute all the time (default 0)
  --redis-late-ms <n>  each answer of Redis comes so many ms later (default 0)
  --warm-up <n>        seconds that each contender sends before it is measured (default 15, with --short 5): its code is
                       still being compiled until then, and for longer
                       all of these with --seconds 30 and --workers 1 if not given`

export const NUMBERS_RULES = {
  numbers: { type: 'string', default: '30' },
  pace: { type: 'string', default: '80' },
  kind: { type: 'string', default: 'single' },
  category: { type: 'string', default: 'marketing' },
  'answer-ms': { type: 'string', default: '300' },
  'wa-id': { type: 'string', default: 'plain' },
  tls: { type: 'string', default: 'none' },
  busy: { type: 'string', default: '0' },
  'redis-late-ms': { type: 'string', default: '0' },
  'warm-up': { type: 'string' },
} as const

export const NUMBERS_SHAPE = {
  numbers: typedWholeNumber(1, 10_000),
  pace: typedNumber(0, 1_000),
  kind: z.enum(['single', 'campaign']),
  category: z.enum(['marketing', 'utility', 'both']),
  'answer-ms': typedAnswerTime,
  'wa-id': z.enum(WA_IDS),
  tls: z.enum(['none', 'h1', 'h2']),
  busy: typedWholeNumber(0, 64),
  'redis-late-ms': typedWholeNumber(0, 10_000),
  'warm-up': typedNumber(1, 3_600).optional(),
}

const numbersSchema = z.object(NUMBERS_SHAPE)

/** As scenarios read it. */
export type Many = Omit<z.infer<typeof numbersSchema>, 'answer-ms' | 'wa-id' | 'redis-late-ms' | 'warm-up'> & {
  answer: z.infer<typeof numbersSchema>['answer-ms']
  waId: z.infer<typeof numbersSchema>['wa-id']
  redisLateMs: number
  /** Seconds; undefined: as usual. */
  warmUp?: number | undefined
  workers: number
}

export function manyOf(asked: z.infer<typeof numbersSchema>, workers = 1): Many {
  const { 'answer-ms': answer, 'wa-id': waId, 'redis-late-ms': redisLateMs, 'warm-up': warmUp, ...rest } = asked
  return { ...rest, answer, waId, redisLateMs, warmUp, workers }
}
