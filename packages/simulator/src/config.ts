// The simulator's own settings: one schema that names every environment variable, its default and what it accepts.
// Nothing else in this folder reads the environment. It shares nothing with src/kernel/config.ts, because the simulator
// stands for somebody else's machine.

import { z } from 'zod'

const wholeNumber = (low: number, high: number) => {
  const expected = `must be a whole number from ${low} to ${high}`
  return z
    .string()
    .regex(/^\d{1,12}$/, expected)
    .transform(Number)
    .pipe(z.number().min(low, expected).max(high, expected))
}

/** The longest delay that a status may be given: one day. */
const DAY_MS = 24 * 60 * 60 * 1000

/** Every variable, its default and what it accepts; docs/guides/simulator.md lists them. */
export const environment = z.object({
  /** Port to listen on; 0 takes any free one. */
  SIMULATOR_PORT: wholeNumber(0, 65_535).default(4010),
  /** Address to listen on. */
  SIMULATOR_HOST: z.string().default('127.0.0.1'),
  /** Secret that signs the webhooks (`X-Hub-Signature-256`). */
  SIMULATOR_APP_SECRET: z.string().default('simulator-app-secret'),
  /** Where the Cloud API wire posts its webhooks; without it none are sent. */
  SIMULATOR_WEBHOOK_URL: z.url({ protocol: /^https?$/, error: 'must be an absolute http or https address' }).optional(),
  /** The numbers behind phone number ids, `id=number` separated by commas; without it each id has a made-up one. */
  SIMULATOR_NUMBERS: z
    .string()
    .regex(/^(\d{1,20}=\d{7,15}(,(?!$)|$))*$/, 'must be phone_number_id=number pairs separated by commas')
    .default(''),
  /** Accepted tokens and api_keys, separated by commas; without it any that is not empty will do. */
  SIMULATOR_TOKENS: z.string().default(''),
  /** Milliseconds from acceptance to `sent`. */
  SIMULATOR_SENT_MS: wholeNumber(0, DAY_MS).default(300),
  /** Milliseconds from acceptance to `delivered`. */
  SIMULATOR_DELIVERED_MS: wholeNumber(0, DAY_MS).default(1500),
  /** Milliseconds from acceptance to `read`. */
  SIMULATOR_READ_MS: wholeNumber(0, DAY_MS).default(4000),
  /** File that the ledger is appended to; without it the ledger lives in memory. */
  SIMULATOR_LEDGER_FILE: z.string().optional(),
  /** `1`: a repeated `Idempotency-Key` on the partner wire returns the first acknowledgement. */
  SIMULATOR_HONOURS_IDEMPOTENCY: z.enum(['0', '1'], 'must be 0 or 1').default('0'),
})

const settings = environment.transform((env) => ({
  port: env.SIMULATOR_PORT,
  host: env.SIMULATOR_HOST,
  appSecret: env.SIMULATOR_APP_SECRET,
  webhookUrl: env.SIMULATOR_WEBHOOK_URL ?? null,
  numbers: new Map(
    env.SIMULATOR_NUMBERS.split(',')
      .map((pair) => pair.split('='))
      .flatMap(([id, number]): [string, string][] => (id === undefined || number === undefined ? [] : [[id, number]])),
  ),
  tokens: env.SIMULATOR_TOKENS.split(',')
    .map((token) => token.trim())
    .filter((token) => token !== ''),
  sentMs: env.SIMULATOR_SENT_MS,
  deliveredMs: env.SIMULATOR_DELIVERED_MS,
  readMs: env.SIMULATOR_READ_MS,
  ledgerFile: env.SIMULATOR_LEDGER_FILE ?? null,
  honoursIdempotency: env.SIMULATOR_HONOURS_IDEMPOTENCY === '1',
}))

/** What the simulator runs with. Delays are milliseconds after acceptance. */
export type SimulatorConfig = z.infer<typeof settings>

/** A setting, a port or a file that keeps the simulator from starting. Its message is one sentence for a person. */
export class StartError extends Error {
  override name = 'StartError'
}

/**
 * Reads the settings from an environment; an empty variable counts as not set.
 * @throws StartError that names every wrong variable, what it must be and what came
 */
export function readSimulatorConfig(env: Record<string, string | undefined> = process.env): SimulatorConfig {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = settings.safeParse(set)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0])
    return `${name} ${issue.message}, got "${env[name] ?? ''}"`
  })
  throw new StartError(`${faults.join('; ')}.`)
}
