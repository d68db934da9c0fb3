// Campaigns that a test plays step by step on a real Redis: the real fan-out feeds them, the real steps claim and settle
// their messages, and the test is the worker, the provider and time. What the provider took is written into a ledger.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { createAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { addSender, type NewSender } from '../../src/accounts/add-sender.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { describeCampaign } from '../../src/campaigns/commands/describe.ts'
import { exportCampaign } from '../../src/campaigns/commands/export.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign } from '../../src/campaigns/commands/moves.ts'
import { definitionOfRun, requireSomebody } from '../../src/campaigns/commands/run-again.ts'
import { fanOut } from '../../src/campaigns/fan-out/fan-out.ts'
import { createLocalStates } from '../../src/campaigns/fan-out/local-state.ts'
import { candidatesOf } from '../../src/campaigns/preflight/recipient-sources.ts'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { FileStore } from '../../src/files/store.ts'
import { type SendPayload, sendPayloadSchema } from '../../src/jobs/send.ts'
import { type Config, loadConfig } from '../../src/kernel/config.ts'
import { type MessageId, messageId, newAttemptId, parseMessageId } from '../../src/kernel/message-id.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { SharedMoments } from '../../src/kernel/shared-ticks.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { readSweepStates } from '../../src/lanes/due-lanes.ts'
import { deadLetter, readNext } from '../../src/lanes/jobs.ts'
import { claimMessages, type WaitsAs } from '../../src/lanes/messages/claim.ts'
import { finalizeUnsent } from '../../src/lanes/messages/finalize-unsent.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus, setNotSent, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { requeueMessage } from '../../src/messages/requeue/requeue.ts'
import type { CampaignId } from '../../src/model/campaigns/campaign-id.ts'
import type { ResumeClass } from '../../src/model/campaigns/definition.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { type Evidence, type State, shownState } from '../../src/model/messages/lifecycle.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cloudApi, createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { partnerApi } from '../../src/providers/partner-api.ts'
import { takeOver } from '../../src/recipients/campaign-heartbeat.ts'
import { type Campaign, createCampaign, findCampaign, idOf, moveCampaign, NOW } from '../../src/recipients/campaigns.ts'
import { buildMessage, messageSpecOf } from '../../src/recipients/recipient-message.ts'
import { readRecipientStates } from '../../src/recipients/recipient-states.ts'
import { writeSnapshot } from '../../src/recipients/snapshot.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { sweepLane } from '../../src/worker/recovery/sweep-lane.ts'
import { createSenderDirectory } from '../../src/worker/sending/sender-directory.ts'
import { silentLog } from './app.ts'
import { interceptCommands, startRedis } from './redis.ts'
import { letAllBeDue, messageRecord, requeueableOn } from './state/messages.ts'
import { eventually } from './wait.ts'

export const RETENTION_MS = 9 * 86_400_000
const VALIDITY_MS = 3 * 86_400_000
const TIMES = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: RETENTION_MS }
/** A pace that holds nothing back. */
const FAST = paceOf(20_000)
/** Messages that the worker has in flight. */
const HANDS = 8
const FIRST_PHONE = 447_700_000_000
const PROBLEM = { code: '131026', sentence: 'no' }

/**
 * What becomes of a message that a worker takes up. `unanswered` and `crash`: the provider took it and nobody knows;
 * `dead`: its job is dead-lettered before the claim.
 */
export const OUTCOMES = ['sent', 'failed', 'throttled', 'unanswered', 'crash', 'dead'] as const
export type Outcome = (typeof OUTCOMES)[number]

export type Lives = Awaited<ReturnType<typeof startLives>>
export type Life = Awaited<ReturnType<Lives['begin']>>

export async function startLives() {
  const server = await startRedis()
  const redis = connectWithRetry(server.url)
  redis.on('error', () => {})
  // Nobody crashes here but the fan-out, and thousands of syncs would be most of the time.
  await redis.config('SET', 'appendfsync', 'no')
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-lives-'))
  const queues = openLaneQueues(redis)
  const queue = openCampaignQueue(redis)
  const template = { name: 't', language: 'en', status: 'APPROVED', category: 'MARKETING', components: [] }
  const accounts = {
    at_most_once: await createAccount(redis, 'lives'),
    at_least_once: await createAccount(redis, 'repeated lives'),
  }
  for (const [policy, account] of Object.entries(accounts)) {
    await setAccountSettings(redis, account, { 'policy.campaign': policy })
    await importTemplate(redis, account, templateSchema.parse(template))
  }
  const config = {
    ...loadConfig({ LANEWAY_DATA_DIR: dataDir }),
    files: openFolder(dataDir),
    retentionMs: RETENTION_MS,
    validityMs: { campaign: VALIDITY_MS, transactional: VALIDITY_MS },
  }
  const secretKeys = secretKeysOf(config)
  const seal = createSeal(secretKeys)
  const agent = createHttpAgent()
  const providers = {
    'partner-api': partnerApi(agent),
    'cloud-api': cloudApi(agent, createOpaqueIds(secretKeys), config.cloudApiVersion),
  }
  const directory = createSenderDirectory({ redis, seal, providers })
  let senders = 0
  let last: Promise<unknown> = Promise.resolve()

  /** The lane of a new sender. One after the other: a sender is added under a lock that nobody waits for long for. */
  function newLane(account: number, rate: number): Promise<number> {
    senders += 1
    const sender: NewSender = {
      account,
      number: `49170${1_000_000 + senders}`,
      name: '',
      provider: 'partner-api',
      phoneNumberId: '',
      baseUrl: 'http://127.0.0.1:1',
      sealedToken: seal.encrypt('token'),
      rate,
      honoursIdempotency: false,
      isDefault: false,
    }
    const added = last.then(() => addSender(redis, sender))
    last = added.catch(() => {})
    return added
  }

  return {
    url: server.url,
    redis,
    config,
    queues,
    queue,

    /**
     * A campaign to so many people that has just been started, on a lane of its own. It is fed a quarter of its rate at
     * a time: one recipient unless more is asked for. `policy`: what becomes of a message in doubt.
     */
    async begin(total: number, rate = 1, policy: keyof typeof accounts = 'at_most_once') {
      const account = accounts[policy]
      const lane = await newLane(account, rate)
      return createLife({ redis, url: server.url, account, queues, queue, config, directory }, lane, total)
    },

    async close(): Promise<void> {
      await queues.close()
      await queue.close()
      redis.disconnect()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

interface World {
  redis: Redis
  url: string
  queues: ReturnType<typeof openLaneQueues>
  queue: ReturnType<typeof openCampaignQueue>
  account: number
  config: Config & { files: FileStore }
  directory: ReturnType<typeof createSenderDirectory>
}

async function createLife(world: World, lane: number, total: number) {
  const { redis, config, queues, queue } = world
  const id = await startCampaign(world, lane, total)
  const { started_at: startedAt = 0 } = await record()
  const ulids = Array.from({ length: total }, (_, place) =>
    campaignMessageUlid(idOf(id), startedAt, place, String(FIRST_PHONE + place)),
  )
  const messages: MessageId[] = ulids.map((ulid) => ({ lane, ulid }))
  /** Attempts that the provider took, by the place of the recipient. */
  const ledger = new Map<number, string[]>()
  /** Second sends that no flag announced. Must stay empty. */
  const silentRepeats: number[] = []
  const move = { redis, queue, retentionMs: config.retentionMs }

  async function record(): Promise<Campaign> {
    const campaign = await findCampaign(redis, id)
    if (!campaign) throw new Error(`${idOf(id)} is gone`)
    return campaign
  }

  /** One turn of the fan-out after the other, with the waits between them. */
  async function feedOn(connection: Redis, stop: AbortSignal): Promise<'again' | 'over'> {
    const { epoch } = await record()
    const slice = { localStates: createLocalStates(), isWanted: () => false, moments: new SharedMoments() }
    for (;;) {
      const end = await fanOut(
        { redis: connection, files: config.files, config, log: silentLog },
        id,
        epoch,
        stop,
        slice,
      )
      if (end === 'over' || stop.aborted) return end === 'over' ? end : 'again'
      await delay(end.nextMs, undefined, { signal: stop }).catch(() => {})
    }
  }

  /** Plays one message of the lane; false when there is none. */
  async function workOne(outcome: Outcome): Promise<boolean> {
    const { jobs, places } = await readNext(redis, lane, { by: 'a worker', most: 1 })
    const [job] = jobs
    const [place] = places
    if (place !== undefined) return workOnPlace(place.place, outcome)
    if (job === undefined) return false
    const message = parseMessageId(job.id)
    if (!message) throw new Error(`not a message: ${job.id}`)
    if (outcome === 'dead') {
      const letter = { id: job.id, reason: 'it cannot be read', keptMs: config.retentionMs }
      // Another hand was faster.
      return (await deadLetter(redis, lane, letter)) || workOne(outcome)
    }
    const payload = sendPayloadSchema.parse(JSON.parse(job.data))
    const end = await attempt(message, payload, newAttemptId(), outcome, 'job')
    return end === 'taken' ? workOne(outcome) : true
  }

  async function workOnPlace(place: number, outcome: Outcome): Promise<boolean> {
    const spec = messageSpecOf(await record(), VALIDITY_MS)
    const { ulid, payload } = buildMessage(spec, { to: String(FIRST_PHONE + place), values: [] }, place)
    const message = { lane, ulid }
    const name = messageId(lane, ulid)
    if (outcome === 'dead') {
      // It gets a job of its own, which kills its workers.
      await queues.add(name, payload)
      return workOne(outcome)
    }
    const end = await attempt(message, payload, newAttemptId(), outcome, 'place')
    if (end === 'taken') return workOne(outcome)
    if (end === 'back' && outcome !== 'crash') await queues.add(name, payload)
    return true
  }

  async function attempt(message: MessageId, payload: SendPayload, name: string, outcome: Outcome, waitsAs: WaitsAs) {
    const { to, content, until, run, filled, again } = payload
    const fresh = { to, type: content.type, text: '', class: payload.class, validUntil: until, campaign: undefined }
    const asked = { ...fresh, run, filled, ...(again && { again }) }
    const [claimed] = await claimMessages(redis, [{ id: message, waitsAs, attempt: name, message: asked }], {
      ...{ ...TIMES, pace: FAST, reader: '' },
    })
    if (claimed === undefined || claimed instanceof Error) throw claimed
    if (claimed.verdict === 'taken') return 'taken'
    const { verdict } = claimed
    if (verdict === 'gone' || verdict === 'dead') {
      await finalizeUnsent(redis, message, verdict, payload, config.retentionMs)
    }
    if (claimed.verdict !== 'done' || claimed.state !== 'sending') return 'over'
    if (outcome === 'throttled') {
      await setNotSent(redis, message, name, { counts: false, maxTries: 8, problem: PROBLEM, retryMs: 1 })
      return 'back'
    }
    if (outcome === 'failed') {
      await recordStatus(redis, message, name, 'failed', { problem: PROBLEM })
      return 'over'
    }
    await taken(message, name)
    if (outcome === 'crash') return 'back'
    if (outcome === 'sent') await recordStatus(redis, message, name, 'sent', { providerId: name })
    else await setUnconfirmed(redis, message, name, { problem: PROBLEM, evidenceMs: 0 })
    return 'over'
  }

  /** The provider takes the message: a second time only with a flag. */
  async function taken(message: MessageId, name: string): Promise<void> {
    const place = ulids.indexOf(message.ulid)
    const before = ledger.get(place) ?? []
    ledger.set(place, [...before, name])
    if (before.length > 0 && (await messageRecord(redis, { lane, ulid: message.ulid }).field('o')) === null)
      silentRepeats.push(place)
  }

  const life = {
    id,
    lane,
    total,
    messages,
    ledger,
    silentRepeats,
    record,
    describe: async () => describeCampaign(redis, await record()),

    recipientStates: (): Promise<(State | undefined)[]> => readRecipientStates(redis, id, 0, total),

    /** As lookups show them; undefined for a message without a record. */
    states: (): Promise<(State | undefined)[]> =>
      Promise.all(
        messages.map(async (message) => {
          const found = await readMessage(redis, message)
          return found && shownState(found)
        }),
      ),

    /** The same by the export, in which nobody is without a state. */
    async exported(): Promise<string[]> {
      const text = await textOf(Readable.from(exportCampaign({ redis, files: config.files }, await record(), 'ndjson')))
      const lines = text.trimEnd().split('\n')
      return lines.map((line) => z.object({ state: z.string() }).parse(JSON.parse(line)).state)
    },

    /** How many a run for the class says that it matches, and how many it finds; 0 and 0 where nobody is in it. */
    async plan(only: ResumeClass): Promise<{ matched: number; found: number }> {
      const campaign = await record()
      try {
        const matched = await requireSomebody(redis, campaign, only)
        const run = { ...campaign, definition: definitionOfRun(campaign, only) }
        let found = 0
        for await (const _candidate of candidatesOf({ redis, files: config.files }, run, [])) found += 1
        return { matched, found }
      } catch (error) {
        if (error instanceof Refusal && error.code === 'nobody_in_class') return { matched: 0, found: 0 }
        throw error
      }
    },

    /** The fan-out works for so long, then is told to stop. */
    feed: (ms: number): Promise<'again' | 'over'> => feedOn(redis, AbortSignal.timeout(ms)),

    /** The fan-out works until its cursor is at this place, however long that takes on a busy machine. */
    async feedTo(place: number): Promise<void> {
      const stop = new AbortController()
      const feeding = feedOn(redis, stop.signal)
      try {
        await eventually(async () => (await record()).next >= place, `${place} are fed`)
      } finally {
        stop.abort()
        await feeding
      }
    },

    /** The fan-out loses its connection at its n-th command and is heard of no more. */
    async feedAndDie(commands: number): Promise<void> {
      const connection = connectWithRetry(world.url)
      connection.on('error', () => {})
      await new Promise((resolve) => connection.once('ready', resolve))
      let left = commands
      interceptCommands(connection, (send) => {
        left -= 1
        if (left === -1) connection.disconnect()
        return send()
      })
      await feedOn(connection, AbortSignal.timeout(500)).catch(() => {})
      connection.disconnect()
    },

    /** Another worker takes the campaign over, whether the one before works or not. */
    takeOver: () => takeOver(redis, id, 0),

    /** A worker takes up to so many messages, in their order; returns how many there were. */
    async work(most: number, outcome: Outcome): Promise<number> {
      let begun = 0
      let done = 0
      const hand = async () => {
        for (; begun < most; done += 1) {
          begun += 1
          if (!(await workOne(outcome))) return
        }
      }
      await Promise.all(Array.from({ length: HANDS }, hand))
      return done
    },

    /** The sweep, once everything is overdue: nothing is in a worker's hands. */
    async sweep(): Promise<void> {
      await letAllBeDue(redis, lane)
      const [state] = await readSweepStates(redis, [lane])
      if (state) await sweepLane({ ...world, log: silentLog }, state)
    },

    /** Fan-out, worker and sweep go on, and all is sent, until the campaign does not run any more. */
    async goOn(limitMs = 600_000): Promise<void> {
      const stop = new AbortController()
      const limit = setTimeout(() => stop.abort(), limitMs)
      const feeding = (async () => {
        while (!stop.signal.aborted && (await feedOn(redis, stop.signal)) === 'again');
      })()
      // Whatever happens, it is waited for below, before anybody closes its connection.
      feeding.catch(() => {})
      try {
        while ((await record()).state === 'running') {
          if (stop.signal.aborted) throw new Error(JSON.stringify((await life.describe()).progress))
          if ((await life.work(500, 'sent')) > 0) continue
          await life.sweep()
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      } finally {
        clearTimeout(limit)
        stop.abort()
        await feeding
      }
    },

    places: (): number[] => Array.from({ length: total }, (_, place) => place),

    /** A person cancels the message at this place; what is not waiting stays as it is. */
    async cancel(place: number): Promise<void> {
      const message = messages[place]
      if (message) await cancelStep(redis, message, RETENTION_MS)
    },

    /** A late webhook says this of the first or the last attempt at the message, if the provider took it. */
    async reported(place: number, { status, of }: { status: Evidence; of: 'first' | 'last' }): Promise<void> {
      const [message, name] = [messages[place], ledger.get(place)?.at(of === 'first' ? 0 : -1)]
      const failure = { problem: PROBLEM, cappedUntil: Date.now() + VALIDITY_MS }
      if (message && name) await recordStatus(redis, message, name, status, status === 'failed' ? failure : {})
    },

    pause: () => pauseCampaign(move, id, 'by hand'),
    resume: async () => resumeCampaign(move, await record()),
    end: async () => cancelCampaign(move, await record()),

    /** The records at these places expire, as after the retention. */
    async expire(places: readonly number[]): Promise<void> {
      await Promise.all(places.map((place) => messageRecord(redis, { lane, ulid: ulids[place] ?? '' }).remove()))
    },

    /** What ended badly is queued again by a person. */
    async requeueAll(): Promise<void> {
      for (const ulid of await requeueableOn(redis, lane).all()) {
        await requeueMessage({ redis, queues, config }, { lane, ulid })
      }
    },
  }
  return life
}

async function startCampaign({ redis, config, account }: World, lane: number, total: number): Promise<CampaignId> {
  const template = { name: 't', language: { code: 'en' }, components: [] }
  const definition = { sender: '1', template, recipients: { tags: [1], except: [] } }
  const id = await createCampaign(redis, { account, lane, definition }, Date.now())
  const snapshot = await writeSnapshot(config.files, id)
  for (let place = 0; place < total; place += 1) await snapshot.add({ to: String(FIRST_PHONE + place), values: [] })
  await snapshot.close()
  await moveCampaign(redis, id, 'check', config.retentionMs, { begins: true })
  await moveCampaign(redis, id, 'pass', config.retentionMs, { fields: { total, next: 0, snapshot: snapshot.name } })
  const fields = { started_at: NOW, resumed_at: NOW }
  await moveCampaign(redis, id, 'start', config.retentionMs, { begins: true, fields })
  return id
}
