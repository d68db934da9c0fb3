// The client's connection to Redis: one that fails fast, and waits that end when it is closed.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { checkKey } from '../accept/check-key.ts'
import { Refusal } from '../accept/refusal.ts'
import type { Credential, Permission } from '../accounts/store/credentials.ts'
import { connectFailFast, type Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { LanewayRefused, LanewayUnavailable } from './errors.ts'

export interface Connection {
  redis: Redis
  /** Resolves after that time; rejects with LanewayUnavailable at once when the client is closed. */
  sleep(ms: number): Promise<void>
  /** The result of `read`, or undefined while Redis is away. */
  unlessAway<T>(read: () => Promise<T>): Promise<T | undefined>
  close(): void
}

/** Connects, or rejects with LanewayUnavailable. */
export async function openConnection(redisUrl: string): Promise<Connection> {
  const redis = connectFailFast(redisUrl)
  // Trouble is told by the call that it hits; without a listener it would end the process.
  redis.on('error', () => {})
  const closed = new AbortController()
  const close = (): void => {
    closed.abort()
    redis.disconnect()
  }
  const refuseClosed = (): void => {
    if (closed.signal.aborted) throw new LanewayUnavailable('The client is closed.')
  }
  try {
    await once(redis, 'ready')
  } catch (cause) {
    close()
    throw new LanewayUnavailable('Redis cannot be reached; check its address.', { cause })
  }
  return {
    redis,
    async sleep(ms) {
      refuseClosed()
      await delay(ms, undefined, { signal: closed.signal }).catch(refuseClosed)
    },
    async unlessAway(read) {
      refuseClosed()
      try {
        return await read()
      } catch (error) {
        if (!isRedisAway(error)) throw error
        return undefined
      }
    },
    close,
  }
}

/** The record of a key that may do that, or a LanewayRefused. */
export async function credentialFor(redis: Redis, apiKey: string, permission: Permission): Promise<Credential> {
  try {
    return await checkKey(redis, apiKey, permission, Date.now())
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new LanewayRefused({ code: error.code, message: error.message, details: [...error.faults] })
  }
}
