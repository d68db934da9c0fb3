// What errors of Redis and ioredis mean, by their codes and classes, and time limits. The only file that interprets these errors.
import { afterRunning } from '../kernel/running-time.ts'
import type { Redis } from './connect.ts'

/** Redis cannot be reached or does not answer in time, as we found ourselves. */
export class RedisUnavailableError extends Error {
  override name = 'RedisUnavailableError'
}

/** Codes, the first word of an error reply, of a server that is there but cannot serve now. */
const SERVER_TROUBLE = new Set([
  ...[
    'LOADING',
    'READONLY',
    'OOM',
    'MASTERDOWN',
    'CLUSTERDOWN',
    'NOREPLICAS',
    'MISCONF',
    'BUSY',
    'UNKILLABLE',
    'TRYAGAIN',
  ],
  // Of a cluster that is settling.
  ...['MOVED', 'ASK'],
  // Of our own scripts, see trusted-clock.ts.
  'CLOCK',
  // Somebody changed the password or the rights of our user. Whoever did that can undo it, and nothing is lost until then.
  ...['NOPERM', 'NOAUTH', 'WRONGPASS'],
])
/** NOPERM inside a script has no code of its own; how it begins until Redis 7.0, and since. */
const SCRIPT_WITHOUT_RIGHTS = ['ERR The user executing the script can', 'ERR ACL failure in script']

/** Codes of Node's errors about a socket. */
const SOCKET_TROUBLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
])

/**
 * ioredis gives these errors neither a class nor a code, only these words; test/component/redis-errors.test.ts makes
 * each of them happen, so that a version that words them in another way is found out.
 */
const IOREDIS_TROUBLE: readonly string[] = [
  'Connection is closed.',
  'Command timed out',
  "Stream isn't writeable and enableOfflineQueue options is false",
]
/** The same of a cluster, and of Sentinel, by how they begin. */
const IOREDIS_TROUBLE_BEGINS: readonly string[] = [
  "Cluster isn't ready and enableOfflineQueue options is false",
  'Cluster is ended.',
  'Failed to refresh slots cache.',
  'None of startup nodes is available',
  'Too many Cluster redirections.',
  'All sentinels are unreachable',
]
const SOCKET_TIMEOUT = "Socket timeout. Expecting data, but didn't receive any in "

/** Whether the error means that Redis is away or refuses for now, so that the caller may try again later. */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof RedisUnavailableError || error.name === 'MaxRetriesPerRequestError') return true
  const code = replyCode(error)
  if (code === 'ERR') return SCRIPT_WITHOUT_RIGHTS.some((begin) => error.message.startsWith(begin))
  if (code !== undefined) return SERVER_TROUBLE.has(code) || (code === 'EXECABORT' && refusedBefore(error))
  if ('code' in error && 'syscall' in error && SOCKET_TROUBLE.has(String(error.code))) return true
  if (isOfIoredis(error)) return true
  return error.cause !== undefined && isRedisAway(error.cause)
}

const isOfIoredis = ({ message }: Error): boolean =>
  IOREDIS_TROUBLE.includes(message) ||
  message.startsWith(SOCKET_TIMEOUT) ||
  IOREDIS_TROUBLE_BEGINS.some((begin) => message.startsWith(begin))

/** A transaction that was not run, because one of its commands was refused when it was queued. */
const refusedBefore = (error: Error): boolean =>
  'previousErrors' in error && Array.isArray(error.previousErrors) && error.previousErrors.some(isRedisAway)

/** The code of an error that Redis itself answered: by its protocol the first word. Undefined for every other error. */
function replyCode(error: unknown): string | undefined {
  return isReplyError(error) ? error.message.split(' ', 1)[0] : undefined
}

/** Whether Redis itself answered with this error. */
export const isReplyError = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError'

/** The error that Redis answered for one part of a script, as if it had answered it for the whole. */
export function replyError(text: string): Error {
  const error = new Error(text)
  error.name = 'ReplyError'
  return error
}

/** The server does not know the script, as after a restart. */
export const isUnknownScript = (error: unknown): boolean => replyCode(error) === 'NOSCRIPT'

/** The user may not use the command, or the server hides it, as hosted ones do. `ERR` is the code of many other errors. */
export const isHiddenCommand = (error: unknown): boolean =>
  replyCode(error) === 'NOPERM' || (isReplyError(error) && error.message.startsWith('ERR unknown command'))

/**
 * The work's result, or a RedisUnavailableError when it takes longer, not counting the time in which this process stood still. The work
 * itself goes on.
 */
export async function withTimeout<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let cancel: (() => void) | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    cancel = afterRunning(limitMs, () => reject(new RedisUnavailableError(`Redis did not answer in ${limitMs} ms`)))
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    cancel?.()
  }
}

/** How long a queue of BullMQ may take before Redis counts as away. */
const LIMIT_MS = 2_500

/**
 * The result of a call to a queue, or a RedisUnavailableError: BullMQ itself would wait for ever for a Redis that is away, and
 * for one that hangs as well.
 */
export async function inTime<T>(redis: Redis, ask: () => Promise<T>): Promise<T> {
  assertConnected(redis)
  return withinLimit(ask())
}

/** Throws a RedisUnavailableError while Redis is away: a command then would wait for it. */
export function assertConnected(redis: Redis): void {
  if (redis.status !== 'ready') throw new RedisUnavailableError('Redis is not connected')
}

/** The result, or a RedisUnavailableError when it takes too long. */
export const withinLimit = <T>(asked: Promise<T>): Promise<T> => withTimeout(LIMIT_MS, asked)
