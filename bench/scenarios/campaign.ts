// One campaign to 1,000,000 people (100,000 without --full, or as many as --people says) on a lane without a limit: how
// soon it begins, how fast it is, what it needs of CPU and memory, and whether everybody got exactly one message: sink,
// records and counts are compared one by one, and the figures of the campaign, read ten times a second, must add up at
// each reading.

import { readProgress } from '../../src/lanes/messages/records.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import type { Bench } from '../bench.ts'
import { createCampaign, fillTag, phoneOf, show, start, sumOf, takenOf } from '../campaign.ts'
import { sinkGets, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { cpuMs, rssMb } from '../process-usage.ts'
import { usedMemory } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'

const MB = 1024 * 1024
const READ_EVERY_MS = 100
/** Of the run: what a worker takes for good it has taken by then. */
const SETTLED = 0.1
const FULL = 1_000_000
const SMALL = 100_000

interface Sample {
  taken: number
  redisBytes: number
  workerMb: number
}

export async function campaign(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const people = bench.people ?? (bench.full ? FULL : SMALL)
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const tag = await fillTag(laneway, people, (done) => progress(`${done} contacts`))
  const sender = laneway.traffic.kind === 'message' ? (laneway.traffic.senders[0] ?? '') : ''
  progress('preflight')
  const checkedFrom = performance.now()
  const id = await createCampaign(laneway, sender, tag)
  const preflightSeconds = (performance.now() - checkedFrom) / 1_000

  await watchSink(rig, { opaque: true })
  const before = await usedMemory(laneway.redis.client)
  const pids = [laneway.worker.pid, laneway.redis.pid, laneway.producer.pid]
  const cpuBefore = pids.map((pid) => cpuMs([pid]))
  const startedAt = performance.now()
  await start(laneway, id)
  const samples: Sample[] = []
  let firstAfterMs = 0
  for (let dueAt = startedAt; ; dueAt = Math.max(dueAt + READ_EVERY_MS, performance.now())) {
    await new Promise((resolve) => setTimeout(resolve, dueAt - performance.now()))
    const now = await show(laneway, id)
    if (sumOf(now) !== people) throw new Error(`the figures add up to ${sumOf(now)}: ${JSON.stringify(now.progress)}`)
    const taken = takenOf(now)
    if (taken > 0 && firstAfterMs === 0) firstAfterMs = performance.now() - startedAt
    samples.push({ taken, redisBytes: await usedMemory(laneway.redis.client), workerMb: rssMb(laneway.worker.pid) })
    progress(`${taken} of ${people}`)
    if (now.state === 'done') break
    if (now.state !== 'running') throw new Error(`the campaign is ${now.state}`)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const [ofWorker = 0, ofRedis = 0, ofProducer = 0] = pids.map(
    (pid, i) => ((cpuMs([pid]) - (cpuBefore[i] ?? 0)) * 1_000) / people,
  )
  const { opaque } = await sinkGets(rig, people)
  await compareOneByOne(laneway, id, people, opaque)

  const perRecord = ((await usedMemory(laneway.redis.client)) - before) / people
  const beyond = samples.map(({ taken, redisBytes }) => redisBytes - before - taken * perRecord)
  const memory = samples.map(({ workerMb }) => workerMb)
  const settled = memory[Math.floor(memory.length * SETTLED)] ?? 0
  const figure = (what: string, value: number, unit: string): Figure => ({ scenario: 'campaign', what, value, unit })
  return [
    figure('recipients', people, ''),
    figure('preflight', preflightSeconds, 's'),
    withGoal(figure('first message after start', firstAfterMs / 1_000, 's'), '< 2'),
    figure('messages', people / seconds, '/s'),
    figure('worker, CPU per message', ofWorker, 'us'),
    figure('Redis, CPU per message', ofRedis, 'us'),
    figure('producer, CPU per message, mostly the readings', ofProducer, 'us'),
    figure('worker memory at the start', memory[0] ?? 0, 'MB'),
    withGoal(figure('worker memory, most', Math.max(...memory), 'MB'), '< 250'),
    figure('worker memory, growth after a tenth of the time', (memory.at(-1) ?? 0) - settled, 'MB'),
    withGoal(figure('Redis per finished message', perRecord, 'bytes'), '< 401'),
    withGoal(figure('Redis beyond finished messages and list, most', Math.max(...beyond) / MB, 'MB'), '< 50'),
    figure('readings that added up', samples.length, ''),
    figure('readings per second', samples.length / seconds, '/s'),
    figure('recipients whose sink, record and count agree', people, ''),
  ]
}

/** Sink, records and counts must name the same messages, each once. */
async function compareOneByOne(laneway: Laneway, name: string, people: number, opaque: string[]): Promise<void> {
  const { client } = laneway.redis
  const id = parseCampaignId(name)
  const found = id && (await findCampaign(client, id))
  if (!found) throw new Error('the campaign is gone')
  const sent = new Map<string, number>()
  for (const each of opaque) {
    const ulid = /^v1\.msg_\d+_([0-9A-Z]{26})\./.exec(each)?.[1] ?? each
    sent.set(ulid, (sent.get(ulid) ?? 0) + 1)
  }
  for (let at = 0; at < people; at += 1_000) {
    const ulids = Array.from({ length: Math.min(1_000, people - at) }, (_, i) =>
      campaignMessageUlid(name, found.started_at ?? 0, at + i, phoneOf(at + i)),
    )
    const messages = await readProgress(client, found.lane, ulids)
    for (const [i, ulid] of ulids.entries()) {
      if (sent.get(ulid) !== 1) throw new Error(`recipient ${at + i} was sent ${sent.get(ulid) ?? 0} messages`)
      const message = messages[i]
      const state = message instanceof Error ? message : message?.state
      if (state !== 'sent') throw new Error(`recipient ${at + i} is ${state}`)
    }
  }
  const { progress } = await show(laneway, name)
  if (progress.sent !== people) throw new Error(`the counts say ${JSON.stringify(progress)}`)
  if (sent.size !== people) throw new Error(`the sink got ${sent.size - people} messages that nobody was to get`)
}
