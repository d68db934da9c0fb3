// What a worker sends with, with a WhatsApp that the test plays.

import type { Sender } from '../../src/accounts/senders.ts'
import { createCampaignRefusals } from '../../src/campaigns/fan-out/circuit-breaker.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { FileStore } from '../../src/files/store.ts'
import { type Config, loadConfig } from '../../src/kernel/config.ts'
import { SharedMoments } from '../../src/kernel/shared-ticks.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import type { CallEnd } from '../../src/model/messages/outcome.ts'
import { type Pace, paceOf } from '../../src/model/messages/pace.ts'
import { createNameMemory } from '../../src/people/name-memory.ts'
import { CheckValidity } from '../../src/people/opt-outs/check-validity.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { createOpenCampaigns } from '../../src/recipients/open-campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { createAttempt, type SendDeps } from '../../src/worker/sending/attempt.ts'
import type { Candidate } from '../../src/worker/sending/candidate.ts'
import { createInFlightLimits } from '../../src/worker/sending/in-flight-limit.ts'
import { createLaneBackoff } from '../../src/worker/sending/lane-backoff.ts'
import { LaneSignals } from '../../src/worker/sending/lane-signals.ts'
import { createLaneSlots } from '../../src/worker/sending/lane-slots.ts'
import { createLanes, type Lanes } from '../../src/worker/sending/lanes.ts'
import { createRedisClock } from '../../src/worker/sending/redis-clock.ts'
import type { DirectoryEntry } from '../../src/worker/sending/sender-directory.ts'
import { serveLane } from '../../src/worker/sending/serve-lane.ts'
import { secondCheck } from '../../src/worker/sending/still-wanted.ts'
import type { TakenLane } from '../../src/worker/sending/take.ts'
import { TakeTurns } from '../../src/worker/sending/take-turns.ts'
import { silentLog } from './app.ts'

export type PlayedProvider = DirectoryEntry['provider']

/** What a sender's record holds, where a test does not care. */
export const anySender = (rate: number): Sender => ({
  ...{ id: 1, account: 1, number: '491700000000', name: '', provider: 'partner-api', base_url: 'http://127.0.0.1:9' },
  ...{
    token: '',
    phone_number_id: '',
    waba_id: '',
    follow_provider: true,
    marketing_route: 'messages',
    strict_pace: false,
    rate,
    honours_idempotency: false,
    paused_for: '',
    paused_by: '',
    paused_at: 0,
  },
  ...{ blocked_at: 0, sent_after_block: 0, resumed_at: 0, portfolio: null },
})

/** What a worker has for its attempts: every lane is the sender's, and its messages go to `send`. */
export function sendingTo(
  {
    redis,
    lanes,
    config = loadConfig({}),
    files = openFolder(config.dataDir),
    secrets = ['secret'],
  }: {
    redis: Redis
    lanes: LaneQueues
    config?: Config
    files?: FileStore
    secrets?: readonly string[]
  },
  sender: Sender,
  provider: PlayedProvider,
): SendDeps {
  const entry: DirectoryEntry = {
    ...{ sender, provider, providerSender: { number: '1', baseUrl: '', token: '', phoneNumberId: '' } },
    ...{ repeat: { transactional: 'never', campaign: 'never' }, stopsTransactional: false, bringsEvidence: false },
    rules: { lane: sender.id },
  }
  return {
    ...{ redis, config, log: silentLog, lanes, worker: 'a worker', tombstones: createTombstones(redis, secrets) },
    checks: new CheckValidity(redis),
    nameMemory: createNameMemory(),
    directory: { of: async () => entry },
    backoff: createLaneBackoff(silentLog),
    refusals: createCampaignRefusals({ redis, log: silentLog, config }),
    clock: createRedisClock(),
    uploads: { find: async () => ({ kind: 'refused', problem: { code: 'none', sentence: '' } }), gone: async () => {} },
    followByPolling: () => {},
    noteMoved: () => {},
    clearLane: () => {},
    campaigns: createOpenCampaigns({ redis, files, validityMs: config.validityMs.campaign }),
  }
}

/** Sends claimed messages of a lane in their slots; a slot that they miss is lost. `send` resolves once the attempt is over. */
export function attemptsOn(deps: SendDeps, lane: number) {
  const signals = new LaneSignals()
  const line = createLaneSlots<Candidate>(
    { clock: deps.clock, others: async () => [], checkAgain: secondCheck(deps) },
    lane,
  )
  const inFlightLimit = { answered: () => {}, end: () => {} }
  const attempt = createAttempt(deps, { line, inFlightLimit, signals })
  return { signals, send: (message: Candidate, pace: Pace = paceOf(10_000)) => attempt(message, pace) }
}

/** The same of one message. */
export const sendAlone = (deps: SendDeps, message: Candidate): Promise<void> =>
  attemptsOn(deps, message.id.lane).send(message)

/** A lane to take from, of which `claimed` gets what was claimed. */
export const takenLane = (
  lane: number,
  entry: DirectoryEntry | undefined,
  claimed: (message: Candidate) => void,
): TakenLane => ({
  ...{
    lane,
    entry,
    pace: paceOf(10_000),
    held: new Map(),
    line: { latest: () => '' },
    inFlightLimit: { found: () => {} },
  },
  attempt: async (message) => claimed(message),
})

/** One lane that this worker serves, with up to `most` messages in flight. */
export function laneOf(deps: SendDeps, lane: number, most: number) {
  const limits = createInFlightLimits(most)
  return {
    ...serveLane(deps, lane, { limits, turns: new TakeTurns(), moments: new SharedMoments() }),
    idle: limits.idle,
  }
}

/** Answers every message so. */
export const answering = (send: (to: string, id: string) => CallEnd | Promise<CallEnd>): PlayedProvider => ({
  send: async (_sender, { to, id }, _timeoutMs, departure) => {
    departure?.left()
    return send(to, id)
  },
})

/** The lanes of a worker with that, which serves all of them. `opened` hears of each that is opened. */
export const lanesOf = (
  send: SendDeps,
  {
    maxInFlight = 100,
    laneIdleMs = 60_000,
    opened = () => {},
  }: {
    maxInFlight?: number
    laneIdleMs?: number
    opened?: (lane: number) => void
  } = {},
): Lanes => createLanes({ send, config: { maxInFlight, laneIdleMs }, opened, isMine: () => true })
