// Every setting of Laneway: its name in the environment, what it means and its default. The only file that reads
// the environment. A test compares `.env.example` and docs/reference/settings.md with this schema.
import { z } from 'zod'
import { parseBucketAddress } from './bucket-address.ts'
import { contradictionOf, productionFaults } from './config-checks.ts'
import { isCidr, networkSchema } from './networks.ts'
import { assertRedisAddress, RedisAddressError } from './redis-address.ts'
import { HOUR_MS } from './time-units.ts'

const SECONDS_A_DAY = 86_400
const GIB = 1024 ** 3
const SECRET_KEY_MIN = 32
const SECRET_KEY_EXPECTED = `expected keys of at least ${SECRET_KEY_MIN} characters`

/** The bounds of a number in words. */
const span = (min: number, max: number) => `from ${min}${max === Number.MAX_SAFE_INTEGER ? ' on' : ` to ${max}`}`

/** A number within bounds. Zod's own messages say what is wrong, not what is expected. */
const number = (min: number, max: number, expected = `expected a number ${span(min, max)}`) =>
  z.coerce.number(expected).min(min, expected).max(max, expected)

const wholeNumber = (min: number, max: number) => {
  const expected = `expected a whole number ${span(min, max)}`
  return number(min, max, expected).refine(Number.isInteger, expected)
}

/** Seconds as text from the environment, as a whole number in milliseconds. */
const seconds = (min: number, max: number) => number(min, max).transform((value) => Math.round(value * 1_000))

/** The same of days. */
const days = (min: number, max: number) => number(min, max).transform((value) => value * SECONDS_A_DAY * 1_000)

/** One of a few words. */
const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, `expected ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)

/** A whole number; 0 is no limit. */
const upTo = (most: number) => wholeNumber(0, most)

/** Words separated by commas; none without the variable. */
const list = z
  .string()
  .optional()
  .transform((text) => (text ?? '').split(',').flatMap((each) => each.trim() || []))

const PORT_EXPECTED = 'expected a number from 0 to 65535'

/** An empty variable means the same as one that is not set. */
const optionalText = z
  .string()
  .optional()
  .transform((value) => (value === '' ? undefined : value))

/** The address of a service, without a slash at its end; without a password, which errors would repeat. */
export const webAddress = z
  .union([
    z.literal(''),
    z
      .url({ protocol: /^https?$/, error: 'expected an address such as https://laneway.example' })
      .regex(/^[^?#@]*$/, 'expected an address without ?, # and @'),
  ])
  .optional()
  .transform((value) => (value ? value.replace(/\/+$/, '') : undefined))

/** Keys separated by commas; empty when there are none. */
const secretKeys = list.refine((keys) => keys.every((key) => key.length >= SECRET_KEY_MIN), SECRET_KEY_EXPECTED)

/** One entry per variable; the description is what the documentation prints. */
export const settings = {
  PORT: z
    .string()
    .regex(/^\d+$/, PORT_EXPECTED)
    .transform(Number)
    .refine((port) => port <= 65_535, PORT_EXPECTED)
    .default(3000)
    .describe('Port of the producer; 0 takes any free one'),
  HOST: z
    .string()
    .min(1, 'expected an address such as 127.0.0.1')
    .default('127.0.0.1')
    .describe('Address the producer listens on'),
  REDIS_URL: optionalText.describe(
    'Redis to use: redis://, redis+sentinel://, redis+cluster:// or unix:///; without it `npm start` runs a private one',
  ),
  LANEWAY_REDIS_MIN_REPLICAS: wholeNumber(0, 9)
    .default(0)
    .describe('Replicas of Redis that must have a message before it is acknowledged or sent; without them 503'),
  LANEWAY_DATA_DIR: z
    .string()
    .min(1, 'expected a folder')
    .default('.laneway')
    .describe('Folder for files, keys and the private Redis'),
  LANEWAY_ENV: oneOf(['development', 'production'])
    .default('development')
    .describe('production: refuses to start with an insecure or unsafe setting'),
  LANEWAY_LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Minimum log level'),
  LANEWAY_FILES_URL: z
    .string()
    .optional()
    .transform((value, context) => {
      if (!value) return undefined
      try {
        return parseBucketAddress(value)
      } catch (error) {
        context.addIssue(error instanceof Error ? error.message : String(error))
        return z.NEVER
      }
    })
    .describe('Bucket for files of the gallery and of campaigns, such as s3://bucket/prefix; default: the data folder'),
  LANEWAY_FILES_REDIRECT: oneOf(['true', 'false'])
    .default('false')
    .describe('true: links of gallery files redirect to the bucket itself, to an address that is valid for 5 minutes'),
  LANEWAY_METRICS_PORT: z
    .string()
    .regex(/^\d*$/, PORT_EXPECTED)
    .optional()
    .transform((value) => (value ? Number(value) : undefined))
    .refine((port) => port === undefined || port <= 65_535, PORT_EXPECTED)
    .describe('Port of metrics and health of this process, without a key; 0 takes any free one'),
  LANEWAY_METRICS_HOST: z
    .string()
    .min(1, 'expected an address such as 127.0.0.1')
    .default('127.0.0.1')
    .describe('Address that port listens on'),
  LANEWAY_PUBLIC_URL: webAddress.describe(
    "Public address of the producer, for the gallery's URLs; default: the address of the request",
  ),
  LANEWAY_TRUSTED_PROXIES: list
    .pipe(z.array(networkSchema))
    .describe('Networks of reverse proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8'),
  LANEWAY_SECRET_KEYS: secretKeys.describe(
    'Seal secrets and sign ids, separated by commas: the first for all that is new, the others open the old',
  ),
  LANEWAY_SECRET_KEY: z
    .union([z.literal(''), z.string().min(SECRET_KEY_MIN, SECRET_KEY_EXPECTED)])
    .optional()
    .transform((value) => value || undefined)
    .describe(
      'The same as one key, at least 32 characters; default outside production: generated once in the data folder',
    ),
  LANEWAY_DATA_KEY: secretKeys.describe(
    'Seals numbers and texts of messages in Redis, keys by commas: the first seals, all open; default: none is sealed',
  ),
  LANEWAY_RETENTION_DAYS: days(9, 365)
    .default(30 * SECONDS_A_DAY * 1_000)
    .describe('Days that message records are kept; at least 9, because idempotency keys hold for 8 days'),
  LANEWAY_RETENTION_RECEIVED_DAYS: optionalText
    .transform((text) => (text === undefined ? undefined : Number(text)))
    .refine((days) => days === undefined || (days >= 1 && days <= 365), 'expected a number from 1 to 365')
    .transform((days) => (days === undefined ? undefined : days * SECONDS_A_DAY * 1_000))
    .describe('Days that received messages are kept, at most LANEWAY_RETENTION_DAYS; default: as long as those'),
  LANEWAY_VALIDITY_TRANSACTIONAL_SECONDS: seconds(1, 30 * SECONDS_A_DAY)
    .default(SECONDS_A_DAY * 1_000)
    .describe('How long a transactional message without valid_until may wait to be sent'),
  LANEWAY_VALIDITY_CAMPAIGN_SECONDS: seconds(1, 30 * SECONDS_A_DAY)
    .default(3 * SECONDS_A_DAY * 1_000)
    .describe('The same for campaign messages'),
  LANEWAY_MAX_TRIES: wholeNumber(1, 20)
    .default(8)
    .describe('Send attempts that provably failed before a message is failed; throttled attempts do not count'),
  LANEWAY_MAX_IN_FLIGHT: wholeNumber(1, 50_000)
    .default(6_000)
    .describe('Messages that one worker has in flight at most, over all lanes; each takes some 60 KB while it is'),
  LANEWAY_LANE_IDLE_SECONDS: seconds(0.1, SECONDS_A_DAY)
    .default(180_000)
    .describe('How long a worker keeps an empty lane open'),
  LANEWAY_SEND_TIMEOUT_SECONDS: seconds(0.1, 60)
    .default(10_000)
    .describe('Longest wait for an answer of the provider; after that the message is unconfirmed'),
  LANEWAY_UNCONFIRMED_WAIT_SECONDS: seconds(0.1, SECONDS_A_DAY)
    .default(60_000)
    .describe('How long an unconfirmed message waits for evidence by webhook before its policy decides'),
  LANEWAY_CAP_SECONDS: seconds(1, 30 * SECONDS_A_DAY)
    .default(SECONDS_A_DAY * 1_000)
    .describe('How long a person gets no more marketing after WhatsApp has refused some with 131049'),
  LANEWAY_MOST_HELD: wholeNumber(1, 10_000)
    .default(100)
    .describe('Campaign messages of a portfolio that are out at once while WhatsApp holds one to assess its quality'),
  LANEWAY_BULK_MOVE_WAIT_SECONDS: seconds(0.1, 60)
    .default(10_000)
    .describe('How long a request waits for a bulk move or an erasure before it is answered with 202'),
  LANEWAY_STOP_DELAY_SECONDS: seconds(0, 8)
    .default(0)
    .describe('How long a producer that was asked to stop still serves everything, while /readyz answers 503'),
  LANEWAY_UPLOAD_MAX_BYTES: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(100 * 1024 * 1024)
    .describe('Largest gallery upload in bytes; WhatsApp takes documents of up to 100 MB'),
  LANEWAY_LIMIT_ADDRESS_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second from one address, over all producers; 0: no limit'),
  LANEWAY_LIMIT_KEY_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second with one key, unless its account has a limit of its own; 0: no limit'),
  LANEWAY_LIMIT_ACCOUNT_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second with all keys of an account, unless it has a limit of its own; 0: no limit'),
  LANEWAY_LIMIT_WAITING: upTo(1_000_000_000)
    .default(10_000_000)
    .describe('Messages of an account that wait to be sent; about 1 KB of Redis each'),
  LANEWAY_LIMIT_DRAFTS: upTo(1_000_000).default(5_000).describe('Campaigns of an account that were not started yet'),
  LANEWAY_LIMIT_ROWS_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(50 * GIB)
    .describe('Bytes of uploaded rows that are kept for an account'),
  LANEWAY_LIMIT_GALLERY_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(50 * GIB)
    .describe('Bytes of gallery files of an account, with those in the trash'),
  LANEWAY_LIMIT_CONTACTS: upTo(1_000_000_000).default(10_000_000).describe('Contacts of an account'),
  LANEWAY_DISK_RESERVE_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(GIB / 2)
    .describe(
      'Free bytes on the disk of the data folder below which uploads, imports, campaigns and batches are refused',
    ),
  LANEWAY_REDIS_RESERVE_PERCENT: number(0, 90)
    .default(10)
    .describe("Share of Redis' maxmemory that is kept for sending: below it the same are refused; 0: none"),
  LANEWAY_TRASH_DAYS: days(0, 3_650)
    .default(30 * SECONDS_A_DAY * 1_000)
    .describe('Days that a gallery file stays in the trash before it is removed for good; 0: for ever'),
  LANEWAY_DRAFT_DAYS: days(0, 3_650)
    .default(90 * SECONDS_A_DAY * 1_000)
    .describe('Days that a campaign nobody starts is kept after its last change; 0: for ever'),
  LANEWAY_EVENTS_RETENTION_HOURS: number(1, 24 * 60)
    .default(168)
    .transform((hours) => Math.round(hours * HOUR_MS))
    .describe('Hours that events are kept, to be pulled, replayed, or delivered to an endpoint that was down'),
  LANEWAY_EVENTS_RETRY_SECONDS: z
    .string()
    .regex(/^\d{1,7}(,\d{1,7}){0,49}$/, 'expected seconds separated by commas, such as 5,300,1800')
    .default('5,300,1800,7200,18000,36000,50400,72000,86400')
    .transform((list) => list.split(',').map((each) => Number(each) * 1_000))
    .describe('Waits before each retry of events that an endpoint did not take, each up to 20 % shorter or longer'),
  LANEWAY_EVENTS_ALLOW_PRIVATE: list
    .refine((networks) => networks.every(isCidr), 'expected networks such as 10.0.0.0/8,fd00::/8')
    .describe('Networks that endpoints may be in although they are private, also over http'),
  LANEWAY_CLOUD_API_VERSION: z
    .string()
    .regex(/^v\d{1,3}\.\d{1,3}$/, 'expected a version such as v25.0')
    .default('v25.0')
    .describe('Version of the Graph API that messages are sent to; a version is supported for about two years'),
  LANEWAY_CLOUD_API_APP_SECRET: optionalText.describe(
    'Verifies the signature of cloud-api webhooks; without it they are refused',
  ),
  LANEWAY_URL: webAddress.describe(
    'Address of a service that the command line asks, with LANEWAY_KEY, instead of Redis',
  ),
  LANEWAY_MCP_TEST_NUMBERS: list.describe('Numbers that agents may send test messages to, separated by commas'),
  LANEWAY_KEY: optionalText.describe('Key that the command line asks a service with'),
  LANEWAY_CLOUD_API_VERIFY_TOKEN: optionalText.describe('Answers the verification handshake of cloud-api webhooks'),
}

const schema = z.object(settings).transform((env) => ({
  port: env.PORT,
  host: env.HOST,
  redisUrl: env.REDIS_URL,
  redisMinReplicas: env.LANEWAY_REDIS_MIN_REPLICAS,
  dataDir: env.LANEWAY_DATA_DIR,
  url: env.LANEWAY_URL,
  key: env.LANEWAY_KEY,
  mcpTestNumbers: env.LANEWAY_MCP_TEST_NUMBERS,
  production: env.LANEWAY_ENV === 'production',
  logLevel: env.LANEWAY_LOG_LEVEL,
  bucket: env.LANEWAY_FILES_URL,
  filesRedirect: env.LANEWAY_FILES_REDIRECT === 'true',
  metricsPort: env.LANEWAY_METRICS_PORT,
  metricsHost: env.LANEWAY_METRICS_HOST,
  publicUrl: env.LANEWAY_PUBLIC_URL,
  trustedProxies: env.LANEWAY_TRUSTED_PROXIES,
  dataKeys: env.LANEWAY_DATA_KEY,
  secretKeys: env.LANEWAY_SECRET_KEY === undefined ? env.LANEWAY_SECRET_KEYS : [env.LANEWAY_SECRET_KEY],
  retentionMs: env.LANEWAY_RETENTION_DAYS,
  receivedRetentionMs: env.LANEWAY_RETENTION_RECEIVED_DAYS ?? env.LANEWAY_RETENTION_DAYS,
  validityMs: {
    transactional: env.LANEWAY_VALIDITY_TRANSACTIONAL_SECONDS,
    campaign: env.LANEWAY_VALIDITY_CAMPAIGN_SECONDS,
  },
  maxTries: env.LANEWAY_MAX_TRIES,
  maxInFlight: env.LANEWAY_MAX_IN_FLIGHT,
  laneIdleMs: env.LANEWAY_LANE_IDLE_SECONDS,
  sendTimeoutMs: env.LANEWAY_SEND_TIMEOUT_SECONDS,
  unconfirmedWaitMs: env.LANEWAY_UNCONFIRMED_WAIT_SECONDS,
  capMs: env.LANEWAY_CAP_SECONDS,
  mostHeld: env.LANEWAY_MOST_HELD,
  bulkMoveWaitMs: env.LANEWAY_BULK_MOVE_WAIT_SECONDS,
  stopDelayMs: env.LANEWAY_STOP_DELAY_SECONDS,
  uploadMaxBytes: env.LANEWAY_UPLOAD_MAX_BYTES,
  limits: {
    addressRate: env.LANEWAY_LIMIT_ADDRESS_RATE,
    keyRate: env.LANEWAY_LIMIT_KEY_RATE,
    accountRate: env.LANEWAY_LIMIT_ACCOUNT_RATE,
    waiting: env.LANEWAY_LIMIT_WAITING,
    drafts: env.LANEWAY_LIMIT_DRAFTS,
    rowsBytes: env.LANEWAY_LIMIT_ROWS_BYTES,
    galleryBytes: env.LANEWAY_LIMIT_GALLERY_BYTES,
    contacts: env.LANEWAY_LIMIT_CONTACTS,
  },
  reserve: { diskBytes: env.LANEWAY_DISK_RESERVE_BYTES, redisPercent: env.LANEWAY_REDIS_RESERVE_PERCENT },
  trashMs: env.LANEWAY_TRASH_DAYS,
  draftMs: env.LANEWAY_DRAFT_DAYS,
  events: {
    retentionMs: env.LANEWAY_EVENTS_RETENTION_HOURS,
    retryMs: env.LANEWAY_EVENTS_RETRY_SECONDS,
    allowPrivate: env.LANEWAY_EVENTS_ALLOW_PRIVATE,
  },
  cloudApiVersion: env.LANEWAY_CLOUD_API_VERSION,
  cloudApi: { appSecret: env.LANEWAY_CLOUD_API_APP_SECRET, verifyToken: env.LANEWAY_CLOUD_API_VERIFY_TOKEN },
}))

/** The whole configuration. Durations are milliseconds, sizes bytes. */
export type Config = Readonly<z.infer<typeof schema>>

/** A setting that cannot be used. The message holds one sentence per problem and is meant for the person at the terminal. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Reads and checks all settings at once; throws a ConfigError that names every wrong variable, what was expected and what came. */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  // package.json has the required Node version; the S3 library would warn of Node 20 before every command.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  const parsed = schema.safeParse(env)
  if (!parsed.success) {
    const sentences = parsed.error.issues.map((issue) => {
      const name = String(issue.path[0])
      // A wrong value of a secret is still a secret, and this sentence goes to terminals and logs.
      const came = /SECRET|TOKEN|DATA_KEY|_URL/.test(name) ? 'invalid' : `"${env[name] ?? ''}"`
      return `${name} is ${came}: ${issue.message.replace(/^Invalid input: /, '')}.`
    })
    throw new ConfigError([...new Set(sentences)].join(' '))
  }
  const config = parsed.data
  if (config.redisUrl !== undefined) refuseOtherAddress(config.redisUrl)
  const faults = config.production ? productionFaults(config) : []
  if (faults.length > 0) throw new ConfigError(faults.join(' '))
  const contradiction = contradictionOf(config, env)
  if (contradiction !== undefined) throw new ConfigError(contradiction)
  return Object.freeze(config)
}

function refuseOtherAddress(url: string): void {
  try {
    assertRedisAddress(url)
  } catch (error) {
    throw error instanceof RedisAddressError ? new ConfigError(`REDIS_URL ${error.message}.`) : error
  }
}

/** Variables that look like settings of Laneway but are none, such as a misspelt one: 20 at most. They have no effect. */
export const unknownSettings = (env: Record<string, string | undefined> = process.env): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('LANEWAY_') && !Object.hasOwn(settings, name))
    .sort()
    .slice(0, 20)

/** Whether npm started this process, so that it should end with npm. */
export const startedByNpm = (env: Record<string, string | undefined> = process.env): boolean =>
  env.npm_lifecycle_event !== undefined

/** The environment for a child process: ours and these on top. */
export const environmentWith = (extra: Record<string, string>): Record<string, string | undefined> => ({
  ...process.env,
  ...extra,
})

/** What a program needs to run at all, and the simulator's own settings; ours, which hold secrets, are left out. */
const PASSED_ON = /^(PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|SIMULATOR_\w+)$/

/** The environment for a child process that must not see our settings: the bare necessities, and these. */
export const bareEnvironment = (own: Record<string, string>): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
  ...own,
})
