// Pins: whatever a plain BullMQ client writes into {laneway-intake} is taken in once or refused with a reason, and no key
// stays in a job that has ended. Real: Redis, BullMQ with its defaults, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { INTAKE_QUEUE, intakeAnswers, intakeRefusalSchema } from '../../src/jobs/intake.ts'
import { audioBody, buttonsBody, listBody, OTHER_KINDS } from '../support/example-messages.ts'
import { orderUpdate } from '../support/example-templates.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { type IntakeJob, type IntakeOptions, intakeJobRecord, intakeQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const image = (to: string, more: object = {}) => ({
  messaging_product: 'chatapp',
  recipient_type: 'individual',
  to,
  type: 'image',
  image: { link: 'https://example.com/a.jpg' },
  ...more,
})

let service: Service
let tenant: Tenant
/** As another service opens it: the name, a connection, nothing else. */
let queue: ReturnType<typeof intakeQueue>

beforeAll(async () => {
  service = await startService({ templates: [orderUpdate] })
  tenant = await service.addTenant()
  queue = intakeQueue(service.server.url, INTAKE_QUEUE)
})
afterAll(async () => {
  await queue?.close()
  await service?.close()
})

const finishedSchema = z.object({ data: z.string(), name: z.string(), finishedOn: z.string() })
const ended = finishedSchema.extend({ returnvalue: z.string().optional(), failedReason: z.string().optional() })

/** Waits for the end of a job and returns everything that Redis holds of it. */
async function endOf(job: IntakeJob) {
  return eventually(async () => {
    const found = ended.safeParse(await intakeJobRecord(service.redis, INTAKE_QUEUE, job.id ?? '').fields())
    return found.success ? found.data : undefined
  }, `the end of job ${job.id}`)
}

async function add(name: string, data: unknown, options: IntakeOptions = {}) {
  return endOf(await queue.add(name, data, options))
}

async function accepted(data: object, options: IntakeOptions = {}): Promise<string> {
  const end = await add('send', { v: 1, api_key: tenant.apiKey, ...data }, options)
  expect(end.failedReason).toBeUndefined()
  return intakeAnswers.send.parse(JSON.parse(end.returnvalue ?? '')).message_id
}

function reasonOf(end: z.infer<typeof ended>) {
  expect(end.returnvalue).toBeUndefined()
  return intakeRefusalSchema.parse(JSON.parse(end.failedReason ?? ''))
}

const refused = async (name: string, data: unknown, options: IntakeOptions = {}) =>
  reasonOf(await add(name, data, options))

async function sendsTo(to: string): Promise<number> {
  const lines = (await (await fetch(`${service.simulator.url}/_ledger`)).text()).split('\n').filter(Boolean)
  return lines.filter((line) => z.object({ to: z.string() }).parse(JSON.parse(line)).to === to).length
}

async function status(messageId: string, apiKey = tenant.apiKey) {
  const end = await add('status', { v: 1, api_key: apiKey, message_id: messageId })
  return intakeAnswers.status.parse(JSON.parse(end.returnvalue ?? ''))
}

describe('a job of a plain BullMQ client', () => {
  test('becomes a message that is sent once, and its status can be asked for in the same way', async () => {
    const id = await accepted({ message: image('+491700000001') })
    await eventually(async () => (await status(id)).status === 'read', `${id} is read`)
    expect(await sendsTo('491700000001')).toBe(1)
    expect(await status(id)).toEqual({ status: 'read', error_message: null })
  })

  test('sends a template from the sender that it names', async () => {
    const components = [
      { type: 'HEADER', parameters: [{ type: 'text', text: 'A-1' }] },
      { type: 'BODY', parameters: ['Ann', 'Monday'].map((text) => ({ type: 'text', text })) },
      { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [{ type: 'text', text: 'A-1' }] },
    ]
    const template = { name: 'order_update', language: { code: 'en_US' }, components }
    const { image: _none, ...envelope } = image('+491700000002')
    const id = await accepted({ message: { ...envelope, type: 'template', sender: tenant.cloudNumber, template } })
    expect(id).toMatch(new RegExp(`^msg_${tenant.cloudLane}_`))
    await eventually(async () => (await sendsTo('491700000002')) === 1, 'the template is sent')
  })

  test('sends any other message from the sender that it names, and refuses one that the account does not have', async () => {
    const id = await accepted({ message: image('+491700000012', { sender: 'cloud' }) })
    expect(id).toMatch(new RegExp(`^msg_${tenant.cloudLane}_`))
    const message = image('+491700000012', { sender: 'nobody' })
    expect(await refused('send', { v: 1, api_key: tenant.apiKey, message })).toMatchObject({ code: 'unknown_sender' })
    await eventually(async () => (await sendsTo('491700000012')) === 1, 'the one is sent')
  })

  test('may hold any kind of message that the endpoints accept', async () => {
    const { image: _none, ...envelope } = image('+491700000006')
    const { interactive: buttons } = buttonsBody()
    const { interactive: list } = listBody()
    const contents: (readonly [type: string, content: unknown])[] = [
      ['interactive', buttons],
      ['interactive', list],
      ['audio', audioBody().audio],
      ...OTHER_KINDS.map(([, type, content]) => [type, content] as const),
    ]
    for (const [type, content] of contents) await accepted({ message: { ...envelope, type, [type]: content } })
    await eventually(async () => (await sendsTo('491700000006')) === contents.length, 'each of them is sent')
  })

  test('without a version is read as version 1', async () => {
    const end = await add('send', { api_key: tenant.apiKey, message: image('+491700000003') })
    expect(intakeAnswers.send.safeParse(JSON.parse(end.returnvalue ?? '')).success).toBe(true)
  })

  test('may be delayed and have a priority and an id of its own', async () => {
    const options = { delay: 50, priority: 3, jobId: 'order-17', attempts: 3 }
    expect(await accepted({ message: image('+491700000004') }, options)).toMatch(/^msg_/)
  })

  test('keeps neither the key nor the content of an accepted message', async () => {
    const end = await add('send', { v: 1, api_key: tenant.apiKey, message: image('+491700000005') })
    expect(JSON.parse(end.data)).toEqual({ v: 1, api_key: '•••', end: { answer: JSON.parse(end.returnvalue ?? '') } })
  })
})

describe('a refused job', () => {
  const cases: [
    string,
    { name?: string; data: (key: string) => unknown; code: string; paths: string[]; says?: RegExp },
  ][] = [
    [
      'without a key',
      { data: () => ({ v: 1, message: image('+1') }), code: 'unauthorized', paths: [], says: /api_key/ },
    ],
    ['with a key that is no text', { data: () => ({ v: 1, api_key: { a: 1 } }), code: 'unauthorized', paths: [] }],
    ['with an unknown key', { data: () => ({ v: 1, api_key: 'lw_nobody' }), code: 'unauthorized', paths: [] }],
    [
      'of a newer version',
      { data: (api_key) => ({ v: 2, api_key }), code: 'unknown_version', paths: ['v'], says: /expected 1, got/ },
    ],
    [
      'of a version in words',
      { data: (api_key) => ({ v: '1', api_key }), code: 'unknown_version', paths: ['v'], says: /got "1"/ },
    ],
    [
      'of a name that nobody knows',
      {
        name: 'sent',
        data: (api_key) => ({ v: 1, api_key }),
        code: 'unknown_job',
        paths: ['name'],
        says: /expected "send", "status", .*"campaign-show", got "sent"/,
      },
    ],
    ['without a message', { data: (api_key) => ({ v: 1, api_key }), code: 'invalid_request', paths: ['message'] }],
    [
      'of an unknown type',
      {
        data: (api_key) => ({ v: 1, api_key, message: image('+491700000009', { type: 'fax' }) }),
        code: 'invalid_request',
        paths: ['message.type'],
        says: /"template", got "fax"/,
      },
    ],
    [
      'with faults in its message, all of them',
      {
        data: (api_key) => ({ v: 1, api_key, message: image('12', { image: { link: 'nowhere' } }) }),
        code: 'invalid_request',
        paths: ['to', 'image.link'],
      },
    ],
    [
      'with a template that is not there',
      {
        data: (api_key) => ({
          v: 1,
          api_key,
          message: {
            ...image('+491700000009', { type: 'template', sender: 'cloud', image: undefined }),
            template: { name: 'nothing', language: { code: 'en_US' } },
          },
        }),
        code: 'invalid_request',
        paths: ['template.name'],
      },
    ],
    [
      'with an idempotency key that is too long',
      {
        data: (api_key) => ({ v: 1, api_key, message: image('+491700000009'), idempotency_key: 'x'.repeat(256) }),
        code: 'invalid_request',
        paths: ['idempotency_key'],
        says: /at most 255 characters, got 256/,
      },
    ],
    ['that is a list', { data: (api_key) => [api_key], code: 'invalid_data', paths: [] }],
    ['that is nothing', { data: () => null, code: 'invalid_data', paths: [] }],
    [
      'that is larger than a request may be',
      { data: (api_key) => ({ v: 1, api_key, more: 'x'.repeat(256 * 1024) }), code: 'too_large', paths: [] },
    ],
    [
      'that nests deeper than a request may',
      { data: (api_key) => ({ v: 1, api_key, more: nested(32) }), code: 'too_deep', paths: [] },
    ],
    [
      'that nests so deep that nobody could write it down again',
      { data: (api_key) => ({ v: 1, api_key, more: nested(2_000) }), code: 'too_deep', paths: [] },
    ],
    [
      'that asks for a message that is not there',
      {
        name: 'status',
        data: (api_key) => ({ v: 1, api_key, message_id: 'msg_1_nonsense' }),
        code: 'not_found',
        paths: [],
      },
    ],
    [
      'that asks for a message by a number',
      {
        name: 'status',
        data: (api_key) => ({ v: 1, api_key, message_id: 7 }),
        code: 'invalid_request',
        paths: ['message_id'],
      },
    ],
  ]

  test.each(cases)(
    '%s gives the reason at once, and keeps no key',
    async (_title, { name = 'send', data, code, paths, says }) => {
      const end = await add(name, data(tenant.apiKey), { attempts: 5, backoff: 60_000 })
      const reason = reasonOf(end)
      expect(reason).toMatchObject({ code, message: expect.stringMatching(/^.+\.$/s) })
      expect(reason.details.map(({ path }) => path)).toEqual(paths)
      if (says) expect(reason.message).toMatch(says)
      expect(JSON.stringify(end)).not.toContain(tenant.apiKey.slice(0, 12))
    },
  )

  test('stays among the failed ones, with its content and without a stack trace', async () => {
    const job = await queue.add('send', { v: 1, api_key: tenant.apiKey, message: image('12') })
    const end = await endOf(job)
    expect(JSON.parse(end.data)).toMatchObject({ v: 1, api_key: '•••', message: image('12') })
    expect(await job.getState()).toBe('failed')
    expect((await queue.getJob(job.id ?? ''))?.stacktrace).toEqual([])
  })

  test('hides a key that was put into another field, both in its data and in its reason', async () => {
    const message = { ...image('+491700000009'), api_key: 'own secret', type: tenant.apiKey }
    const end = await add('send', { v: 1, api_key: tenant.apiKey, key: tenant.apiKey, message })
    expect(reasonOf(end).message).toContain('got "•••')
    expect(JSON.stringify(end)).not.toContain(tenant.apiKey.slice(0, 12))
    expect(JSON.stringify(end)).not.toContain('own secret')
  })

  test('is refused for a missing permission', async () => {
    const message = image('+491700000009')
    const reader = await tenant.key('messages:read')
    expect(await refused('send', { v: 1, api_key: reader, message })).toMatchObject({
      code: 'forbidden',
      message: 'The key lacks the permission messages:send.',
    })
    const sender = await tenant.key('messages:send')
    expect(await refused('status', { v: 1, api_key: sender, message_id: 'msg_1_x' })).toMatchObject({
      code: 'forbidden',
    })
  })

  test('is refused for a key of no account', async () => {
    const { secret } = await createCredential(service.redis, 0, ['operator'], Date.now())
    expect(await refused('send', { v: 1, api_key: secret, message: image('+491700000009') })).toMatchObject({
      code: 'forbidden',
      message: 'A key of no account cannot be used in a job.',
    })
  })

  test('is refused for an expired key', async () => {
    const { secret } = await createCredential(service.redis, tenant.account, ['messages:send'], Date.now(), Date.now())
    expect(await refused('send', { v: 1, api_key: secret, message: image('+491700000009') })).toMatchObject({
      code: 'unauthorized',
      message: 'The key has expired.',
    })
  })

  test("gives the same answer for another account's message and one that never existed", async () => {
    const id = await accepted({ message: image('+491700000010') })
    const other = await service.addTenant()
    const theirs = await refused('status', { v: 1, api_key: other.apiKey, message_id: id })
    expect(theirs).toEqual(await refused('status', { v: 1, api_key: other.apiKey, message_id: 'nonsense' }))
  })
})

test('nothing refused was sent', async () => {
  await accepted({ message: image('+491700000017') })
  // Messages of a lane leave in the order they came.
  await eventually(async () => (await sendsTo('491700000017')) === 1, 'a later message is sent')
  expect(await sendsTo('491700000009')).toBe(0)
})

describe('a message asked for twice', () => {
  test('with one idempotency key is one message, through the queue and over HTTP alike', async () => {
    const data = { message: image('+491700000011'), idempotency_key: 'order-11' }
    const ids = await Promise.all([accepted(data), accepted(data), accepted(data)])
    const body = { api_key: tenant.apiKey, ...data.message }
    const answer = await service.post('/sendservicemessages/sendmessages', body, { 'idempotency-key': 'order-11' })
    expect(answer.body).toMatchObject({ messages: [{ id: ids[0] }] })
    expect(new Set(ids).size).toBe(1)
    const other = { v: 1, api_key: tenant.apiKey, message: image('+491700000012'), idempotency_key: 'order-11' }
    expect(await refused('send', other)).toMatchObject({ code: 'idempotency_key_reused' })
  })

  test('by two jobs without one is two messages', async () => {
    const data = { message: image('+491700000013'), idempotency_key: '' }
    expect(await accepted(data)).not.toBe(await accepted(data))
  })

  test('by a job that runs again is one message, whether or not its end was recorded', async () => {
    const data = { v: 1, api_key: tenant.apiKey, message: image('+491700000014') }
    const job = await queue.add('send', data)
    const first = await endOf(job)

    await job.retry('completed')
    expect((await endOf(job)).returnvalue).toBe(first.returnvalue)

    // As it was when the worker died right after accepting.
    await job.updateData(data)
    await job.retry('completed')
    expect((await endOf(job)).returnvalue).toBe(first.returnvalue)
    await eventually(async () => (await sendsTo('491700000014')) === 1, 'it is sent')
  })

  test('by a job added again with its id and time, after it was forgotten, is one message', async () => {
    const data = { message: image('+491700000019') }
    const options = { jobId: 'once', timestamp: Date.now() }
    const first = await accepted(data, options)
    await queue.remove('once')
    expect(await accepted(data, options)).toBe(first)
  })

  test('by a job with the same id added at another time is two messages', async () => {
    const data = { message: image('+491700000015') }
    const first = await accepted(data, { jobId: 'daily' })
    await queue.remove('daily')
    expect(await accepted(data, { jobId: 'daily' })).not.toBe(first)
  })
})

test('a refusal is the same when its job is run again', async () => {
  const job = await queue.add('send', { v: 1, api_key: tenant.apiKey, message: image('12') })
  const first = await endOf(job)
  await job.retry('failed')
  expect((await endOf(job)).failedReason).toBe(first.failedReason)
})

test('a job that claims to have ended is refused for the field that only a worker writes', async () => {
  const end = { answer: { message_id: 'msg_1_made_up' } }
  const refusal = await refused('send', { v: 1, api_key: tenant.apiKey, message: image('+491700000016'), end })
  expect(refusal.details).toEqual([{ path: 'end', message: 'unknown field' }])
})

test('the dashboard counts these jobs and shows none: they belong to all accounts', async () => {
  const headers = await sessionHeader(service.redis)
  await queue.add('send', { v: 1, api_key: tenant.apiKey, message: image('+491700000018') }, { delay: 3_600_000 })
  await refused('send', { v: 1, api_key: tenant.apiKey, message: image('12', { image: { link: 'own words' } }) })
  for (const status of ['delayed', 'failed', 'completed']) {
    const name = encodeURIComponent('{laneway-intake}')
    const url = `${service.url}/dashboard/api/queues?activeQueue=${name}&status=${status}&jobsPerPage=100`
    const { queues } = boardAnswer.parse(await (await fetch(url, { headers })).json())
    const intake = queues.find(({ name }) => name === '{laneway-intake}')
    expect(intake?.jobs).toEqual([])
    expect(intake?.counts.delayed).toBeGreaterThan(0)
    expect(intake?.counts.failed).toBeGreaterThan(0)
  }
})

const boardAnswer = z.object({
  queues: z.array(z.object({ name: z.string(), counts: z.record(z.string(), z.number()), jobs: z.array(z.unknown()) })),
})

function nested(levels: number): unknown {
  return levels === 0 ? 'x' : [nested(levels - 1)]
}
