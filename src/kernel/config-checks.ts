// Checks across settings: pairs that contradict each other and, in production, values that would leave the installation open.
import { socketPath } from './redis-address.ts'

const SECRET_MIN = 16

/** Secrets that are public: those in docker-compose.demo.yml and the simulator's own. */
const PUBLISHED = [/^only-for-trying-it-out/, /^simulator-/]

/** The settings that are checked in production. */
export interface CheckedSettings {
  redisUrl: string | undefined
  publicUrl: string | undefined
  secretKeys: readonly string[]
  dataKeys?: readonly string[]
  cloudApi: { appSecret: string | undefined; verifyToken: string | undefined }
}

/** One sentence for each setting that is refused in production. None contains a secret. */
export function productionFaults({
  redisUrl,
  publicUrl,
  secretKeys,
  dataKeys = [],
  cloudApi,
}: CheckedSettings): string[] {
  const faults = [
    ...(secretKeys.length === 0 ? ['LANEWAY_SECRET_KEYS or LANEWAY_SECRET_KEY must be set.'] : []),
    ...secretKeys.flatMap((key) => secretFaults('LANEWAY_SECRET_KEYS', key)),
    ...dataKeys.flatMap((key) => secretFaults('LANEWAY_DATA_KEY', key)),
    ...secretFaults('LANEWAY_CLOUD_API_APP_SECRET', cloudApi.appSecret),
    ...secretFaults('LANEWAY_CLOUD_API_VERIFY_TOKEN', cloudApi.verifyToken),
    ...(publicUrl === undefined
      ? ['LANEWAY_PUBLIC_URL must be set: without it the Host of a request decides where links to files lead.']
      : []),
    ...(redisUrl === undefined || isPrivateRedis(redisUrl)
      ? []
      : ['REDIS_URL must begin with rediss:// or unix://: anyone on the network can read redis://.']),
  ]
  return faults.map((fault) => `LANEWAY_ENV is production: ${fault}`)
}

function secretFaults(name: string, secret: string | undefined): string[] {
  if (secret === undefined) return []
  if (PUBLISHED.some((published) => published.test(secret))) return [`${name} is published; make one of your own.`]
  return secret.length < SECRET_MIN ? [`${name} must have at least ${SECRET_MIN} characters.`] : []
}

/** Whether the connection to this Redis is private: encrypted, on this machine, or a socket. */
function isPrivateRedis(url: string): boolean {
  if (socketPath(url) !== undefined || /^rediss/.test(url)) return true
  const hosts = /^redis[^:]*:\/\/(?:[^@/]*@)?([^/?#]*)/.exec(url)?.[1] ?? ''
  return hosts.split(',').every((host) => isLoopback(host.replace(/:\d+$/, '')))
}

/** Whether a token that is sent to this address could be read on the way. */
export const isPlainAddress = (url: string): boolean =>
  url.startsWith('http://') && !isLoopback(URL.canParse(url) ? new URL(url).hostname : '')

/** Refuses a provider's address with plain http in production. */
export const PLAIN_PROVIDER =
  'expected an address that begins with https:// in production: its token would be sent in clear'

/** Refuses a cloud-api sender without a secret for its webhooks in production: no part would start. */
export const UNVERIFIED_WEBHOOKS =
  'nothing would verify its webhooks; set LANEWAY_CLOUD_API_APP_SECRET, ' +
  'or a secret of the account (`accounts set <id> webhook.app_secret -`), first'

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)

/** The durations that depend on each other, in ms. */
interface Durations {
  retentionMs: number
  receivedRetentionMs: number
  validityMs: Readonly<Record<'transactional' | 'campaign', number>>
}

/** A sentence about the first two settings that contradict each other, if any do. */
export function contradictionOf(
  { retentionMs, receivedRetentionMs, validityMs }: Durations,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // It would be ambiguous which of them seals.
  if (env.LANEWAY_SECRET_KEYS?.trim() && env.LANEWAY_SECRET_KEY) {
    return 'Set LANEWAY_SECRET_KEYS or LANEWAY_SECRET_KEY, not both.'
  }
  // If the record ended first, the message could be claimed again although it was sent.
  if (Math.max(validityMs.transactional, validityMs.campaign) > retentionMs) {
    return 'LANEWAY_VALIDITY_TRANSACTIONAL_SECONDS and LANEWAY_VALIDITY_CAMPAIGN_SECONDS must not be longer than LANEWAY_RETENTION_DAYS.'
  }
  // The index that lists read ends with the sent messages.
  if (receivedRetentionMs > retentionMs) {
    return 'LANEWAY_RETENTION_RECEIVED_DAYS must not be more than LANEWAY_RETENTION_DAYS.'
  }
  return undefined
}
