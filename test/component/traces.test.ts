// Pins: a message is followed from its request to the provider, by spans where an SDK is loaded and by what the request said
// where none is. Real: Redis, HTTP, producer, worker, the SDK. Stood in for: WhatsApp.
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { setSenderAccess } from '../../src/accounts/senders.ts'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { parseTraceparent, traceOfLog } from '../../src/kernel/tracing.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { acknowledgedId, audioTo, reaches } from '../support/messages.ts'
import { type Partner, startPartner } from '../support/partner.ts'
import { jobOf } from '../support/state/lanes.ts'
import { intakeQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const GIVEN = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const given = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const BAD = [
  GIVEN.toUpperCase(),
  GIVEN.replace('00-', 'ff-'),
  `${GIVEN}-more`,
  GIVEN.replace(given.traceId, '0'.repeat(32)),
  GIVEN.replace(given.spanId, '0'.repeat(16)),
  `${GIVEN}, ${GIVEN}`,
  'x'.repeat(8_000),
]

let service: CampaignService
let partner: Partner
let queues: ReturnType<typeof openLaneQueues>
let numbers = 491_700_007_000
/** The provider refuses so many of the next sends. */
let refusals = 0

beforeAll(async () => {
  service = await startCampaigns({ provider: 'partner-api' })
  partner = await startPartner({
    throttle() {
      refusals -= 1
      return refusals >= 0 ? { 'retry-after': '0' } : undefined
    },
  })
  await sendTo(partner.url)
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await partner?.close()
  await service?.close()
})

/** Messages leave for this provider from now on. */
const sendTo = (baseUrl: string): Promise<void> =>
  setSenderAccess(service.redis, service.lane, {
    baseUrl,
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('token'),
  })

const newNumber = (): string => {
  numbers += 1
  return String(numbers)
}

/** Sends over HTTP to a new number, and gives what its request to the provider carried. */
async function send(headers: Record<string, string> = {}) {
  const to = newNumber()
  const body = { api_key: service.tenant.apiKey, ...audioTo(`+${to}`) }
  const id = acknowledgedId(await service.post('/sendservicemessages/sendmessages', body, headers))
  const sends = () => partner.sends.filter((each) => each.to === to)
  await eventually(async () => sends().some((each) => !each.refused), 'the provider has it')
  return { id, sends: sends() }
}

/** What the jobs of these messages hold, which are accepted while the lane is paused and sent afterwards. */
async function jobsOf(accept: () => Promise<string[]>): Promise<Record<string, unknown>[]> {
  await queues.pause(service.lane)
  const ids = await accept()
  const jobs = await Promise.all(ids.map((id) => jobOf(service.redis, id)))
  await queues.resume(service.lane)
  for (const id of ids) await reaches(service, service.tenant, id, 'sent')
  return jobs.map((job) => z.looseObject({}).parse(job?.data))
}

async function postBatch(headers: Record<string, string>): Promise<string[]> {
  const messages = [audioTo(`+${newNumber()}`), audioTo(`+${newNumber()}`)]
  const { status, json } = await service.tenant.api.post('/messages/batch', { messages }, headers)
  expect(status).toBe(200)
  const answer = z.object({ results: z.array(z.object({ id: z.string() })) }).parse(json)
  return answer.results.map(({ id }) => id)
}

/** Through the intake queue; gives the id of the message. */
async function sendByJob(fields: object): Promise<string> {
  const queue = intakeQueue(service.server.url, INTAKE_QUEUE)
  try {
    const message = audioTo(`+${newNumber()}`)
    const job = await queue.add('send', { v: 1, api_key: service.tenant.apiKey, message, ...fields })
    const answer = z.object({ message_id: z.string() })
    return await eventually(
      async () => answer.safeParse((await queue.getJob(job.id ?? ''))?.returnvalue).data?.message_id,
      'the job is done',
    )
  } finally {
    await queue.close()
  }
}

describe('without an SDK', () => {
  test('the trace of a request reaches the provider unchanged, also when the message is tried again', async () => {
    refusals = 1
    const { sends } = await send({ traceparent: GIVEN })
    expect(sends.map(({ refused, traceparent }) => ({ refused, traceparent }))).toEqual([
      { refused: true, traceparent: GIVEN },
      { refused: false, traceparent: GIVEN },
    ])
  })

  test('an invalid traceparent header is ignored', async () => {
    const sent = await Promise.all(BAD.map((traceparent) => send({ traceparent })))
    expect(sent.flatMap(({ sends }) => sends.map((each) => each.traceparent))).toEqual(BAD.map(() => undefined))
  })

  test('the job of a message contains its trace, and that of one without spends no byte on it', async () => {
    const jobs = await jobsOf(async () => [
      ...(await postBatch({ traceparent: GIVEN })),
      ...(await postBatch({})),
      ...(await postBatch({ traceparent: 'nonsense' })),
    ])
    expect(jobs.map((job) => job.trace)).toEqual([GIVEN, GIVEN, ...Array.from({ length: 4 }, () => undefined)])
    expect(jobs.filter((job) => 'trace' in job)).toHaveLength(2)
  })

  test('a job of another service may have a trace, and anything else in that field is ignored', async () => {
    const jobs = await jobsOf(async () => [
      await sendByJob({ traceparent: GIVEN }),
      await sendByJob({ traceparent: 'nonsense' }),
      await sendByJob({ traceparent: 7 }),
    ])
    expect(jobs.map((job) => job.trace)).toEqual([GIVEN, undefined, undefined])
  })
})

describe('with an SDK', () => {
  let exporter = new InMemorySpanExporter()
  let provider: NodeTracerProvider | undefined
  function load(sampler?: Sampler): void {
    exporter = new InMemorySpanExporter()
    const spanProcessors = [new SimpleSpanProcessor(exporter)]
    provider = new NodeTracerProvider({ spanProcessors, ...(sampler && { sampler }) })
    provider.register()
  }
  afterEach(async () => {
    await provider?.shutdown()
    trace.disable()
    context.disable()
  })

  const spans = (name: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => span.name === name)
  const spansOf = (name: string, id: string) =>
    spans(name).filter((span) => span.attributes['messaging.message.id'] === id)
  const only = <T>(found: readonly T[]): T => {
    expect(found).toHaveLength(1)
    return found[0] as T
  }
  const sendSpan = (id: string) => eventually(async () => spansOf('send', id)[0], 'the span of the attempt')
  const linksOf = (span: ReadableSpan) => span.links.map(({ context: { traceId, spanId } }) => ({ traceId, spanId }))
  const idsOf = (span: ReadableSpan) => {
    const { traceId, spanId } = span.spanContext()
    return { traceId, spanId }
  }

  test('accept is in the trace of the request, send is a root linked to it, settle is below send', async () => {
    load()
    const { id, sends } = await send({ traceparent: GIVEN })
    const accept = only(spansOf('accept', id))
    const sent = await sendSpan(id)
    const settled = only(spans('settle').filter((span) => idsOf(span).traceId === idsOf(sent).traceId))
    expect(accept.spanContext().traceId).toBe(given.traceId)
    expect(accept.parentSpanContext?.spanId).toBe(given.spanId)
    expect(accept.kind).toBe(SpanKind.PRODUCER)
    expect(sent.parentSpanContext).toBeUndefined()
    expect(sent.spanContext().traceId).not.toBe(given.traceId)
    expect(linksOf(sent)).toEqual([idsOf(accept)])
    expect(sent.attributes).toMatchObject({
      'messaging.system': 'laneway',
      'messaging.operation.name': 'send',
      'messaging.destination.name': String(service.lane),
      'messaging.message.id': id,
      'laneway.outcome': 'sent',
      'laneway.class': 'transactional',
      'laneway.provider': 'partner-api',
    })
    expect(settled.parentSpanContext?.spanId).toBe(sent.spanContext().spanId)
    expect(parseTraceparent(only(sends).traceparent)).toMatchObject(idsOf(sent))
    expect(JSON.stringify(exporter.getFinishedSpans().map(({ attributes }) => attributes))).not.toContain('4917')
  })

  test('a request without a trace starts one, and its message is linked to it', async () => {
    load()
    const { id } = await send()
    const accept = only(spansOf('accept', id))
    expect(accept.parentSpanContext).toBeUndefined()
    const sent = await sendSpan(id)
    expect(linksOf(sent)).toEqual([idsOf(accept)])
  })

  test('the messages of a batch link to the one span of its request', async () => {
    load()
    const ids = await postBatch({ traceparent: GIVEN })
    const accept = only(spans('accept'))
    expect(accept.attributes['messaging.batch.message_count']).toBe(2)
    for (const id of ids) {
      const sent = await sendSpan(id)
      expect(linksOf(sent)).toEqual([idsOf(accept)])
    }
  })

  test('a refused request is a span with its code, and not an error', async () => {
    load()
    const body = { api_key: service.tenant.apiKey, ...audioTo('12') }
    expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(400)
    const accept = only(spans('accept'))
    expect(accept.attributes['error.type']).toBe('invalid_request')
    expect(accept.status.code).toBe(SpanStatusCode.UNSET)
  })

  test('an attempt that did not send is a failed span with its code', async () => {
    load()
    refusals = 1
    const { id } = await send()
    const [failed, sent] = await eventually(async () => {
      const found = spansOf('send', id)
      return found.length === 2 ? found : undefined
    }, 'both attempts')
    expect(failed?.status.code).toBe(SpanStatusCode.ERROR)
    expect(failed?.attributes).toMatchObject({ 'laneway.outcome': 'lane_waits', 'error.type': 'http_429' })
    expect(sent?.status.code).toBe(SpanStatusCode.UNSET)
    expect(sent?.attributes['error.type']).toBeUndefined()
  })

  test('a round of a fan-out is a root span with the number of recipients that it fed', async () => {
    load()
    const { tag } = await service.addPeople(3)
    const campaign = await service.ready({ tags: [tag] })
    await service.move(campaign, 'start')
    await service.reaches(campaign, 'done')
    const round = only(spans('fan-out round'))
    expect(round.parentSpanContext).toBeUndefined()
    expect(round.attributes).toMatchObject({ 'laneway.campaign': campaign, 'messaging.batch.message_count': 3 })
    // A campaign may be done before the last span of its messages ends.
    await eventually(async () => spans('send').length === 3, 'the spans of the attempts')
    expect(spans('send').flatMap(linksOf)).toEqual([])
  })

  test('nothing but the trace of the request is stored or sent when nothing is recorded', async () => {
    load(new AlwaysOffSampler())
    const { sends } = await send()
    expect(only(sends).traceparent).toBeUndefined()
    const named = await send({ traceparent: GIVEN })
    expect(only(named.sends).traceparent).toBe(GIVEN)
    expect(exporter.getFinishedSpans()).toEqual([])
  })

  test('a log line contains the id of the span in which it is written, and no other line does', () => {
    load()
    expect(traceOfLog()).toEqual({})
    trace.getTracer('test').startActiveSpan('work', (span) => {
      const { traceId, spanId } = span.spanContext()
      expect(traceOfLog()).toEqual({ trace_id: traceId, span_id: spanId, trace_flags: 1 })
      span.end()
    })
  })
})
