// Lives of people with an account, which a test plays step by step on a real Redis: messages and campaigns go out, what
// they write comes in late and twice, they opt out and are erased, and a worker on any of it may die at any command.
// WhatsApp is played: it writes down what left, and when.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { outboundId } from '../../packages/simulator/src/wamid.ts'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { dropSender } from '../../src/admin/senders.ts'
import { createCampaignRefusals } from '../../src/campaigns/fan-out/circuit-breaker.ts'
import { erasePerson } from '../../src/erase/erase.ts'
import { endErasure, newErasureId, openErasureQueue } from '../../src/erase/erasures.ts'
import { personPieces } from '../../src/erase/gather.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { SendPayload } from '../../src/jobs/send.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { readSweepStates } from '../../src/lanes/due-lanes.ts'
import { emitReceived, storeInbound } from '../../src/lanes/messages/inbound.ts'
import { addPlaces, countPlaces } from '../../src/lanes/places.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import type { CampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { type CallEnd, MISSED_SLOT } from '../../src/model/messages/outcome.ts'
import { OPTED_OUT_THERE } from '../../src/model/messages/provider-codes.ts'
import type { Departure, ProviderMessage } from '../../src/model/provider.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { useOptOutSecrets } from '../../src/people/opt-outs/erased.ts'
import { exportOptOuts } from '../../src/people/opt-outs/opt-out-export.ts'
import { optOutsHold } from '../../src/people/opt-outs/opt-out-hold.ts'
import { addOptOuts, findOptOut, removeOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { createCampaign, moveCampaign, NOW } from '../../src/recipients/campaigns.ts'
import { saveUpload } from '../../src/recipients/files.ts'
import { writeSnapshot } from '../../src/recipients/snapshot.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { applyOptOutKeyword, applyPreference } from '../../src/reports/apply-opt-outs.ts'
import { applyReport } from '../../src/reports/apply-report.ts'
import { sweepLane } from '../../src/worker/recovery/sweep-lane.ts'
import { takeNext } from '../../src/worker/sending/take.ts'
import { silentLog } from './app.ts'
import { interceptCommands, startRedis } from './redis.ts'
import { laneOf as laneServed, sendAlone, sendingTo, takenLane } from './sending.ts'
import { clearAll, storedBytes } from './state/everything.ts'
import { letAllBeDue } from './state/messages.ts'
import { eventually } from './wait.ts'

const RETENTION_MS = 9 * 86_400_000
const SECRETS = ['a secret key of at least thirty-two characters']
const TEMPLATE = { name: 't', language: { code: 'en' }, components: [] }

export type World = Awaited<ReturnType<typeof startWorld>>

/** A Redis and a data folder that many lives share. */
export async function startWorld() {
  const server = await startRedis()
  const redis = connectWithRetry(server.url)
  redis.on('error', () => {})
  await redis.config('SET', 'appendfsync', 'no')
  useOptOutSecrets(() => SECRETS)
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-people-'))
  const config = {
    ...loadConfig({ LANEWAY_DATA_DIR: dataDir }),
    files: openFolder(dataDir),
    retentionMs: RETENTION_MS,
    validityMs: { campaign: RETENTION_MS, transactional: RETENTION_MS },
  }
  const queues = openLaneQueues(redis)
  const erasures = openErasureQueue(redis)
  let last: Promise<unknown> = Promise.resolve()

  return {
    url: server.url,
    redis,
    config,
    queues,
    erasures,

    /** One after the other: a sender is added and removed under a lock that nobody waits for long for. */
    inTurn<T>(work: () => Promise<T>): Promise<T> {
      const done = last.then(work)
      last = done.catch(() => {})
      return done
    },

    /** Everything that stands in Redis or in a file, as `[where, what]`; bytes as characters. */
    async everything(): Promise<[string, string][]> {
      const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).map((file) => join(dataDir, file))
      const onDisk = files.map((file): [string, string] => [file, contentOf(file)])
      return [...(await storedBytes(redis)), ...onDisk].map(([at, what]) => [at, `${at} ${what}`])
    },

    /** Nothing of the lives until now is looked through any more. Numbers are not given out again. */
    async clear(): Promise<void> {
      await clearAll(redis)
      rmSync(join(dataDir, 'campaigns'), { recursive: true, force: true })
    },

    async close(): Promise<void> {
      await queues.close()
      await erasures.close()
      redis.disconnect()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Empty for a folder, and for what another life has removed meanwhile. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

/** All that the number may stand as: in clear, and in base64 wherever it begins. */
export function spellingsOf(person: string): string[] {
  // Of the characters at its ends some bits are of what stands beside it.
  const inBase64 = [0, 1, 2].map((before) =>
    Buffer.from('x'.repeat(before) + person)
      .toString('base64')
      .slice(Math.ceil((before * 8) / 6), Math.floor(((before + person.length) * 8) / 6)),
  )
  return [person, ...inBase64]
}

/** Not right before a second begins. */
const withinSecond = (): Promise<number> =>
  eventually(async () => Date.now() % 1_000 < 900 && Date.now(), 'the second has begun')

type Request = Pick<ProviderMessage, 'to' | 'id' | 'attempt'>

/** What left, and when. */
interface Left {
  to: string
  isMarketing: boolean
  at: number
  id: string
  attempt: string
  providerId: string
}

export type Life = Awaited<ReturnType<typeof beginLife>>

/** An account with two senders, and three people who are contacts of it. */
export async function beginLife(world: World, seed: number) {
  const { redis, config, queues, erasures } = world
  const account = await createAccount(redis, `life ${seed}`)
  // They differ before the last digit, of which base64 may not have all bits.
  const people = [1, 2, 3].map((i) => `49157${i}${String(seed).padStart(5, '0')}7`)
  const nameOf = (person: string): string => `Kanari ${person.split('').reverse().join('')}`
  const seal = createSeal(SECRETS)
  let lanes: number[] = []
  const campaigns: { id: CampaignId; total: number }[] = []
  const left: Left[] = []
  let senders = 0

  /** Runs as a process that loses its connection at its n-th command and is heard of no more; without n it does not. */
  async function as(dies: number | undefined, work: (redis: Redis) => Promise<unknown>): Promise<void> {
    if (dies === undefined) return void (await work(redis))
    const doomed = connectWithRetry(world.url)
    doomed.on('error', () => {})
    await new Promise((resolve) => doomed.once('ready', resolve))
    let commands = dies
    interceptCommands(doomed, (send) => {
      commands -= 1
      if (commands === -1) doomed.disconnect()
      return send()
    })
    await work(doomed).catch(() => {})
    doomed.disconnect()
  }

  const provider = {
    async send(_sender: unknown, request: Request, _timeoutMs: number, at?: Departure): Promise<CallEnd> {
      const { to, id, attempt } = request
      if (at === undefined || performance.now() > at.leaveBy) return { kind: 'never_left', cause: MISSED_SLOT }
      at.left()
      const isMarketing = !transactional.has(id)
      const providerId = outboundId({ wire: 'cloud', to, acceptedMs: Date.now(), fateNumber: null })
      left.push({ to, isMarketing, at: performance.now(), id, attempt, providerId })
      return left.length % 7 === 0 ? { kind: 'unanswered', cause: 'timeout' } : { kind: 'accepted', providerId }
    },
  }
  const transactional = new Set<string>()

  async function workerOn(connection: Redis, lane: number, rate = 1_000) {
    const sender = await findSender(redis, lane)
    if (!sender) throw new Error('no sender')
    const lanesOf = connection === redis ? queues : openLaneQueues(connection)
    const how = { redis: connection, lanes: lanesOf, config, secrets: SECRETS }
    return sendingTo(how, { ...sender, rate }, provider)
  }

  const laneOf = (i: number): number => lanes[i % lanes.length] ?? 0

  const life = {
    account,
    people,
    nameOf,
    left,
    senders: () => lanes.length,

    async addSender(): Promise<void> {
      senders += 1
      const number = `4930${String(seed).padStart(6, '0')}${String(senders).padStart(2, '0')}`
      const lane = await world.inTurn(() =>
        addSender(redis, {
          ...{ account, number, name: '', provider: 'cloud-api', phoneNumberId: number, baseUrl: 'http://127.0.0.1:1' },
          ...{
            sealedToken: seal.encrypt('token'),
            rate: 1_000,
            honoursIdempotency: false,
            isDefault: lanes.length === 0,
          },
        }),
      )
      lanes.push(lane)
    },

    /** Unless it still has something to do. */
    async removeSender(i: number): Promise<void> {
      const lane = laneOf(i)
      try {
        await world.inTurn(() => dropSender({ redis, queues }, lane, RETENTION_MS))
        lanes = lanes.filter((each) => each !== lane)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    },

    async addContact(person: string): Promise<void> {
      const { id } = await createTag(redis, account, `tag ${newUlid(Date.now())}`)
      await importContacts(redis, account, id, [{ phone: person, name: nameOf(person), email: `${person}@x.example` }])
    },

    /** A message of its own waits on a lane. */
    async accept(person: string, i: number, of: 'transactional' | 'campaign'): Promise<void> {
      const lane = laneOf(i)
      const id = messageId(lane, newUlid(Date.now()))
      if (of === 'transactional') transactional.add(id)
      const content: SendPayload['content'] =
        of === 'campaign'
          ? { type: 'template', template: TEMPLATE }
          : { type: 'text', text: { body: `To ${nameOf(person)}` } }
      await queues.add(id, { v: 1, to: person, class: of, content, until: Date.now() + RETENTION_MS })
    },

    /** A worker takes up what waits on its lane, each message once. */
    async work(i: number, dies?: number): Promise<void> {
      const lane = laneOf(i)
      await as(dies, async (connection) => {
        const deps = await workerOn(connection, lane)
        const entry = await deps.directory.of(lane)
        const sending: Promise<unknown>[] = []
        const from = takenLane(lane, entry, (message) => sending.push(sendAlone(deps, message)))
        await takeNext(deps, from, { most: 100, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY })
        await Promise.all(sending)
      })
    },

    /** A campaign to everybody runs, with an uploaded file as well. */
    async startCampaign(i: number): Promise<void> {
      const lane = laneOf(i)
      const recipients = { rows: { phone: 'phone' }, except: [] }
      const definition = { sender: '1', template: TEMPLATE, recipients }
      const id = await createCampaign(redis, { account, lane, definition }, Date.now())
      const rows = ['phone,name', ...people.map((person) => `${person},${nameOf(person)}`)].join('\n')
      const bytes = Readable.from([Buffer.from(rows)])
      const { name: rows_file } = await saveUpload(config.files, id, { format: 'csv', bytes }, 1_000_000)
      const snapshot = await writeSnapshot(config.files, id)
      for (const to of people) await snapshot.add({ to, values: [nameOf(to)] })
      await snapshot.close()
      const total = people.length
      await moveCampaign(redis, id, 'check', RETENTION_MS, { begins: true, fields: { rows_file } })
      await moveCampaign(redis, id, 'pass', RETENTION_MS, { fields: { total, next: total, snapshot: snapshot.name } })
      const fields = { started_at: NOW, resumed_at: NOW } as const
      await moveCampaign(redis, id, 'start', RETENTION_MS, { begins: true, fields })
      campaigns.push({ id, total })
    },

    /** Everybody of the latest campaign is fed, and a worker serves its lane, whichever it is, until nobody waits any more. */
    async sendCampaign({ dies, rate }: { dies?: number | undefined; rate?: number } = {}): Promise<void> {
      const campaign = campaigns.at(-1)
      if (campaign === undefined || !lanes.includes(campaign.id.lane)) return
      const { id, total } = campaign
      await addPlaces(redis, id, [{ from: 0, count: total }])
      await as(dies, async (connection) => {
        const served = laneServed(await workerOn(connection, id.lane, rate), id.lane, 4)
        served.signals.wake()
        try {
          const isOver = async (): Promise<boolean> =>
            connection.status === 'end' ||
            (served.inFlightLimit.running() === 0 && (await countPlaces(redis, id.lane)) === 0)
          await eventually(isOver, 'the campaign is sent', 30_000)
          if (connection.status !== 'end') await served.idle()
        } finally {
          served.signals.stop()
        }
      })
    },

    /** WhatsApp brings what the person wrote. */
    async bringWord(person: string, word: string, id: string, atMs: number, dies?: number): Promise<void> {
      const received = { id, lane: laneOf(0), from: person, type: 'text', text: word, parts: {}, received_at: atMs }
      await as(dies, async (connection) => {
        if ((await storeInbound(connection, account, received, RETENTION_MS)) === undefined) return
        await applyOptOutKeyword(connection, account, received, atMs)
        await emitReceived(connection, account, received)
      })
    },

    bringPreference: (person: string, intent: 'stop' | 'resume', atMs: number, dies?: number): Promise<void> =>
      as(dies, (connection) => applyPreference(connection, account, { people: [person], intent, atMs })),

    /** WhatsApp brings what became of a message; true when it says that its person has opted out there. */
    async bringStatus(of: Left, failed: boolean, atMs: number, dies?: number): Promise<void> {
      const id = parseMessageId(of.id)
      if (id === undefined) throw new Error(of.id)
      await as(dies, async (connection) => {
        const problem = { code: OPTED_OUT_THERE, sentence: `${of.to} wants none` }
        const sender = await findSender(connection, id.lane)
        if (sender === undefined) throw new Error('no sender')
        const refusals = createCampaignRefusals({ redis: connection, log: silentLog, config })
        const deps = { redis: connection, lanes: queues, log: silentLog, refusals, config }
        const detail = { providerId: of.providerId, atMs, ...(failed && { problem }) }
        await applyReport(deps, sender, { id, attempt: of.attempt, status: failed ? 'failed' : 'delivered', ...detail })
      })
    },

    /** Resolves to when it was done, of which no word that is told in whole seconds is between our clock and Redis'. */
    async optOut(person: string, dies?: number): Promise<number> {
      const at = await withinSecond()
      await as(dies, (connection) => addOptOuts(connection, account, [person], { source: 'http' }))
      if (dies === undefined) await optOutsHold(redis)
      return at
    },
    async optIn(person: string): Promise<number> {
      const at = await withinSecond()
      await removeOptOuts(redis, account, [person], { source: 'http' })
      return at
    },
    isOut: async (person: string) => (await findOptOut(redis, account, person)) !== undefined,

    /** From the request to its answer, by workers of which the first ones may die. */
    async erase(person: string, deaths: readonly number[]): Promise<void> {
      const nowMs = Date.now()
      const id = newErasureId(nowMs)
      await createTombstones(redis, SECRETS).bury(account, person, nowMs, RETENTION_MS)
      await erasures.start(id, { account, person, nowMs })
      const of = { id, account, person, nowMs }
      for (const dies of deaths) {
        await as(dies, async (connection) => {
          const lost = openLaneQueues(connection)
          const deps = { redis: connection, files: config.files, config, log: silentLog, queues: lost }
          await erasePerson(deps, of).finally(() => lost.close().catch(() => {}))
        })
      }
      const deps = { redis, files: config.files, config, log: silentLog, queues }
      for (let tries = 0; !(await erasePerson(deps, of)); tries += 1) {
        if (tries > 20) throw new Error('it is busy for ever')
        await life.sweep()
      }
      await endErasure(redis, id, 'done', Date.now())
    },

    /** What a worker was at that died is taken for unproven, as by the sweep. */
    async sweep(): Promise<void> {
      const deps = await workerOn(redis, laneOf(0))
      for (const lane of lanes) {
        await letAllBeDue(redis, lane)
        const [state] = await readSweepStates(redis, [lane])
        if (state) await sweepLane({ ...deps, queues }, state)
      }
    },

    /** All that is kept of the person, as they are shown it, and the list of opt-outs. */
    async shown(person: string): Promise<{ kept: unknown; list: string }> {
      const deps = { redis, config }
      const kept = await textOf(Readable.from(personPieces(deps, account, person, Date.now())))
      return { kept: JSON.parse(kept), list: await textOf(Readable.from(exportOptOuts(redis, account))) }
    },
  }

  await life.addSender()
  await life.addSender()
  for (const person of people) await life.addContact(person)
  return life
}
