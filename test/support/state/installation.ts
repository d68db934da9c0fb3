// What is kept of the installation as a whole, and what its processes tell each other.
import type { Redis } from '../../../src/redis/connect.ts'
import { historyKey, rateKey, rootKeys } from '../../../src/redis/keys.ts'
import { recordAt, timesAt, valueAt } from './handles.ts'

/** Lanes that the sweep must look at, by when. */
export const dueLanes = (redis: Redis) => timesAt(redis, rootKeys.dueLanes)

/** Lanes whose senders are there, and their accounts. */
export const lanesKnown = (redis: Redis) => recordAt(redis, rootKeys.lanes)

/** Workers, by when they were last heard of. */
export const workersHeardOf = (redis: Redis) => timesAt(redis, rootKeys.workers)

/** The last numbers that were given out. */
export const lastNumbers = (redis: Redis) => recordAt(redis, rootKeys.sequences)

/** Held while a sender is added or removed. */
export const sendersLock = (redis: Redis) => valueAt(redis, rootKeys.sendersLock)

/** That lists of requeueable messages were trimmed lately. */
export const trimmedLately = (redis: Redis) => valueAt(redis, rootKeys.trimmed)

/** Data keys that the installation has used. */
export const dataKeysSeen = (redis: Redis) => recordAt(redis, rootKeys.dataKeys)

/** Figures of a lane, or of the installation, in one hour or day. */
export const historyOf = (redis: Redis, lane: number | undefined, resolution: string, chunk: number) =>
  recordAt(redis, historyKey(lane, resolution, chunk))

/** Names of all figures of a lane with this resolution. */
export const historyNamesOf = (redis: Redis, lane: number, resolution: string) =>
  redis.keys(historyKey(lane, resolution, 0).replace(/0$/, '*'))

/** Requests that may still come of a key, of an account or from an address. */
export const rateOf = (redis: Redis, of: Parameters<typeof rateKey>[0], who: string) => valueAt(redis, rateKey(of, who))

/** What processes tell each other. */
const CHANNELS = { lanesToWake: rootKeys.wakeLanes, laneHasWork: rootKeys.wake, laneToReopen: rootKeys.reopen }

/** Hears on a connection of its own what processes tell each other. */
export const listenFor = (listener: Redis, of: keyof typeof CHANNELS) => listener.subscribe(CHANNELS[of])
