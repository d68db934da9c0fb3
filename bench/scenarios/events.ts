// What it costs to tell what happens: how fast events go through one endpoint in batches of 100, how late they are at 500
// messages a second, and what dispatch loses with an endpoint for everything, against the same without.
import { createServer } from 'node:http'
import { z } from 'zod'
import { changeEndpoint, createEndpoint, newEndpointId } from '../../src/events/store/endpoints.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { EVENT_TYPES } from '../../src/model/events/event-schema.ts'
import { senderKey } from '../../src/redis/keys.ts'
import { listen } from '../../test/testbed/free-port.ts'
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import type { Closing } from '../closing.ts'
import { rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { type Laneway, SECRET_KEY, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { type Figure, withGoal } from '../report.ts'
import { percentile, spreadOf } from '../statistics.ts'

const BACKLOG = 20_000
const WARM_UP = 5_000
const RATE = 500
const TOLD_WITHIN_MS = 120_000

const batch = z.object({ data: z.array(z.object({ timestamp: z.string() })) })

export async function events(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, profile } = bench
  const receiver = await startReceiver(closing)
  const settings = { LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' }
  const listened = await startLaneway(rig, `${dir}/listened`, closing, { profile, settings })
  const plain = await startLaneway(rig, `${dir}/plain`, closing, { profile })
  const endpoint = await register(listened, receiver.url)
  const contenders = [
    { ...listened, name: 'with an endpoint' },
    { ...plain, name: 'without' },
  ]
  const drained: number[] = []

  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const contender = contenders[at] ?? listened
    const requests = isWarmUp ? WARM_UP : BACKLOG
    await contender.hold()
    await watchSink(rig)
    await send(rig, { port: contender.port, connections: 64, traffic: contender.traffic, requests })
    const before = receiver.count()
    let perSecond = 0
    const cpuUs = await cpuPer(contender.sendPids, async () => {
      await contender.release()
      perSecond = rateOf(await sinkGets(rig, requests))
      return requests
    })
    if (at === 0) await until('all is told', TOLD_WITHIN_MS, async () => receiver.count() - before >= requests)
    return { perSecond, cpuUs }
  })

  for (let round = 0; round <= bench.rounds; round += 1) {
    bench.progress('events that have waited')
    await changeEndpoint(listened.redis.client, endpoint, { enabled: false })
    // The relay reads endpoints every 0.8 s.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    await watchSink(rig)
    await send(rig, { port: listened.port, connections: 64, traffic: listened.traffic, requests: BACKLOG })
    await sinkGets(rig, BACKLOG)
    const before = receiver.count()
    await changeEndpoint(listened.redis.client, endpoint, { enabled: true })
    await until('the first of them', TOLD_WITHIN_MS, async () => receiver.count() > before)
    const [began, had] = [performance.now(), receiver.count()]
    await until('all of them', TOLD_WITHIN_MS, async () => receiver.count() - before >= BACKLOG)
    if (round > 0) drained.push(((before + BACKLOG - had) * 1_000) / (performance.now() - began))
  }

  const p50: number[] = []
  const p99: number[] = []
  for (let round = 0; round <= bench.rounds; round += 1) {
    bench.progress(`${RATE} messages a second`)
    await watchSink(rig)
    receiver.forget()
    const load = {
      port: listened.port,
      connections: 64,
      traffic: listened.traffic,
      ms: bench.seconds * 1_000,
      rate: RATE,
    }
    const { messages } = await send(rig, load)
    await sinkGets(rig, messages)
    await until('all is told', TOLD_WITHIN_MS, async () => receiver.late().length >= messages)
    if (round === 0) continue
    p50.push(percentile(receiver.late(), 0.5))
    p99.push(percentile(receiver.late(), 0.99))
  }
  const figure = (what: string, all: readonly number[], unit: string): Figure => {
    const spread = spreadOf(all)
    return { scenario: 'events', what, value: spread.median, unit, spread }
  }
  return [
    ...compare('events', ['dispatch with an endpoint', 'without'], values, { without: 0.85 }),
    withGoal(figure('events through one endpoint, batches of 100', drained, '/s'), '>= 10000'),
    withGoal(figure(`told after the change at ${RATE}/s, p50`, p50, 'ms'), '< 50'),
    withGoal(figure(`told after the change at ${RATE}/s, p99`, p99, 'ms'), '< 500'),
  ]
}

async function register({ redis, laneIds }: Laneway, url: string) {
  const account = Number(await redis.client.hget(senderKey(laneIds[0] ?? 0), 'account'))
  // A batch waits no longer than this for more events.
  const batches = { max_events: 100, max_wait_ms: 10 }
  const fields = newEndpointFields.parse({ url, types: [...EVENT_TYPES], batch: batches })
  const how = { seal: createSeal([SECRET_KEY]), nowMs: Date.now() - 1_000, id: newEndpointId() }
  return (await createEndpoint(redis.client, account, fields, how)).endpoint
}

async function startReceiver(closing: Closing) {
  let count = 0
  let late: number[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    response.writeHead(204).end()
    const now = Date.now()
    const { data } = batch.parse(JSON.parse(Buffer.concat(chunks).toString()))
    count += data.length
    for (const { timestamp } of data) late.push(now - Date.parse(timestamp))
  })
  const port = await listen(server)
  closing.add(async () => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${port}/`,
    count: () => count,
    late: () => late,
    forget() {
      late = []
    },
  }
}
