// BullMQ's keys and hash fields that Laneway reads or writes directly. Scripts get the keys by name, and the fields from the
// tables `JOB` and `META` below. BullMQ guarantees none of this: test/component/bullmq-layout.test.ts compares every line,
// and whatever else Laneway relies on, with the installed BullMQ; add-jobs.test.ts does so for adding.
import { endpointQueuePrefix, lanePrefix, sharedQueuePrefix } from '../../redis/keys.ts'

/** The BullMQ queue of a lane: sender, lane and queue share one number. */
export const laneQueue = (lane: number): string => `lane-${lane}`

const laneKey = (lane: number, suffix: string): string => `${lanePrefix(lane)}:${laneQueue(lane)}:${suffix}`

/** Where the unfinished jobs of a lane are. */
export const laneBacklogKeys = (lane: number) => ({
  /** LIST of job ids; the next one is the last. */
  waiting: laneKey(lane, 'wait'),
  /** ZSET of job ids; the next one is first. Taken from when nothing waits. */
  prioritized: laneKey(lane, 'prioritized'),
  /** ZSET job id → when it is due, see `delayedUntil`. */
  delayed: laneKey(lane, 'delayed'),
  /** LIST of the ids of jobs whose messages are being sent. */
  active: laneKey(lane, 'active'),
})

/** STRING: counts the prioritized jobs of a lane, for their scores. */
export const laneCounterKey = (lane: number): string => laneKey(lane, 'pc')

/** HASH about the queue, see `META`. */
export const laneMetaKey = (lane: number): string => laneKey(lane, 'meta')

/** Fields of the hash about a queue. */
export const META = {
  /** There while nothing may leave. */
  paused: 'paused',
} as const

/** ZSET job id → time (ms) at which it failed for good: the lane's dead letters. */
export const laneDeadLettersKey = (lane: number): string => laneKey(lane, 'failed')

/** HASH of one job of the lane, see `JOB`. With an empty id: what the keys of all of them begin with. */
export const laneJobKey = (lane: number, jobId: string): string => laneKey(lane, jobId)

/** Fields of the hash of a job. */
export const JOB = {
  name: 'name',
  /** The payload, JSON. */
  data: 'data',
  /** Only of a job that failed for good: a dead letter. */
  failedReason: 'failedReason',
  /** Epoch ms. */
  finishedOn: 'finishedOn',
  /** When it was added (epoch ms). */
  addedAt: 'timestamp',
  /** How long after that it is due (ms). */
  delay: 'delay',
  /** 0 unless it is a prioritized one. */
  priority: 'priority',
  /** What else BullMQ is to do with it, JSON. */
  opts: 'opts',
  stacktrace: 'stacktrace',
} as const

/** LIST of job ids that wait in a queue that belongs to no lane. */
export const sharedWaitingKey = (queue: string): string => `${sharedQueuePrefix(queue)}:${queue}:wait`

/** ZSET job id → when it is due, see `delayedUntil`, of a queue that belongs to no lane. */
export const sharedDelayedKey = (queue: string): string => `${sharedQueuePrefix(queue)}:${queue}:delayed`

/** The BullMQ queue of an endpoint of events; its keys have a hash tag of their own. */
export const endpointQueue = (endpoint: string): string => `events-${endpoint}`

/** The same as `sharedDelayedKey`, of the queue of an endpoint. */
export const endpointDelayedKey = (endpoint: string): string =>
  `${endpointQueuePrefix(endpoint)}:${endpointQueue(endpoint)}:delayed`

/** The time (epoch ms) in a score of the delayed jobs; the rest of the score keeps jobs of one time in their order. */
export const delayedUntil = (score: string): number => Number(score) / 4_096
/** The least score of a job that is due then. */
export const delayedScore = (ms: number): number => ms * 4_096

/**
 * Prefix of the keys of the intake queue: BullMQ's own default, so that a client in any language needs no configuration. The name of
 * the queue is the hash tag.
 */
export const INTAKE_PREFIX = 'bull'

/** HASH of one job of the intake queue. */
export const intakeJobKey = (queue: string, jobId: string): string => `${INTAKE_PREFIX}:${queue}:${jobId}`

/** Where the jobs of the intake queue are. */
export const intakeKeys = (queue: string) => ({
  /** LIST of ids of those that wait; the next one is last. */
  waiting: intakeJobKey(queue, 'wait'),
  /** LIST of ids of those that a worker is processing, or was when it died. */
  active: intakeJobKey(queue, 'active'),
  /** SET of ids of those that the next check takes from a worker that has not renewed their lock. */
  stalled: intakeJobKey(queue, 'stalled'),
  /** ZSET id → time (ms) at which it was refused. */
  refused: intakeJobKey(queue, 'failed'),
  /** STREAM of what happened, refusals with their reasons among it; nobody reads it. */
  events: intakeJobKey(queue, 'events'),
})
