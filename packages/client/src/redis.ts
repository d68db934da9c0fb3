// The intake queue in Redis: adding jobs, and reading how they ended. All use of BullMQ and Redis by the client is here.
import { Queue } from 'bullmq'
import { ReplyError } from 'ioredis'
import { RedisAddressError } from '../../../src/kernel/redis-address.ts'
import { openOrThrow, type Redis } from '../../../src/redis/connect.ts'
import { inTime } from '../../../src/redis/errors.ts'
import { INTAKE_PREFIX, INTAKE_QUEUE, readRefusal } from './contract.ts'
import { LanewayUnavailable } from './errors.ts'
import type { IntakeJob, Refusal } from './types.ts'

/** How long Redis may take to answer at first. */
const CONNECT_LIMIT_MS = 10_000

/** A job to be added. Adding the same one again, with its id and its time, does nothing twice. */
export interface NewIntakeJob {
  id: string
  addedAtMs: number
  name: IntakeJob
  data: object
}

/** How a job ended. `gone`: it is not there, because nobody added it or because it ended too long ago. */
export type IntakeJobState =
  | { state: 'waiting' }
  | { state: 'gone' }
  | { state: 'done'; answer: unknown }
  | { state: 'refused'; refusal: Refusal }

/** The intake queue as a client uses it. Calls reject with an error for which `isAway` holds while Redis is away. */
export interface IntakeQueue {
  /** Adds jobs in one round trip. When it rejects, some may have been added: adding all of them again is safe. */
  add(jobs: readonly NewIntakeJob[]): Promise<void>
  /** The states of these jobs, in their order, in one round trip. */
  read(ids: readonly string[]): Promise<IntakeJobState[]>
  close(): Promise<void>
}

/** Connects, or rejects with LanewayUnavailable. */
export async function openIntakeQueue(redisUrl: string): Promise<IntakeQueue> {
  const redis = await connect(redisUrl)
  const queue = new Queue(INTAKE_QUEUE, {
    connection: redis,
    prefix: INTAKE_PREFIX,
    // Its settings are the workers' to make.
    skipMetasUpdate: true,
    // Otherwise a connection that breaks while the version is read leaves the queue unusable for good.
    skipVersionCheck: true,
  })
  // The connection has reported it already.
  queue.on('error', () => {})

  return {
    async add(jobs) {
      const added = jobs.map(({ id, addedAtMs, name, data }) => ({
        name,
        data,
        opts: { jobId: id, timestamp: addedAtMs },
      }))
      await inTime(redis, () => queue.addBulk(added))
    },

    async read(ids) {
      const pipeline = redis.pipeline()
      for (const id of ids) {
        pipeline.hmget(`${INTAKE_PREFIX}:${INTAKE_QUEUE}:${id}`, 'name', 'finishedOn', 'returnvalue', 'failedReason')
      }
      const replies = (await pipeline.exec()) ?? []
      return replies.map(([error, fields]) => {
        if (error) throw error
        return stateOf(fields)
      })
    },

    async close() {
      redis.disconnect()
      await queue.close()
    },
  }
}

/** A connection that fails fast, as the producer's. Rejects with a TypeError for an address of no known form. */
export async function connect(redisUrl: string): Promise<Redis> {
  try {
    return await openOrThrow(redisUrl, CONNECT_LIMIT_MS)
  } catch (cause) {
    if (cause instanceof RedisAddressError) throw new TypeError(`redisUrl ${cause.message}.`)
    throw new LanewayUnavailable('Redis cannot be reached; check its address.', { cause })
  }
}

/** Answers of a server that is there but cannot serve now. */
const FOR_NOW = /^(LOADING|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|BUSY|TRYAGAIN)\b/

/** Whether Redis is away or refuses for now. What it refuses for good is an error of the call, also inside a script. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof ReplyError ? FOR_NOW.test(error.message) : !(error instanceof TypeError)
}

function stateOf(fields: unknown): IntakeJobState {
  const [name, finishedOn, answer, reason] = Array.isArray(fields) ? fields.map(textOf) : []
  if (name === undefined) return { state: 'gone' }
  if (finishedOn === undefined) return { state: 'waiting' }
  if (reason === undefined) return { state: 'done', answer: jsonOf(answer) }
  // A reason in other words is BullMQ's own, for a job that never reached the service.
  const refusal = readRefusal(jsonOf(reason)) ?? { code: 'dead_letter', message: reason, details: [] }
  return { state: 'refused', refusal }
}

const textOf = (field: unknown): string | undefined => (typeof field === 'string' ? field : undefined)

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}
