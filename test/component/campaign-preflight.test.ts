// Pins: a preflight counts and freezes the recipients, and tells all that stands in the way in one answer.
// Real: Redis, HTTP, producer, worker, files. Nothing is sent.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { type CampaignService, SPRING, startCampaigns } from '../support/campaigns.ts'

let service: CampaignService
let queues: LaneQueues

beforeAll(async () => {
  service = await startCampaigns({ rate: 10 })
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const refusedLines = async (id: string) =>
  (await service.request('GET', `/campaigns/${id}/refused`)).text.trimEnd().split('\n').slice(1)

describe('contacts', () => {
  test('of several tags are taken once each, in order, without those of excluded tags and those without a name', async () => {
    const { redis, tenant } = service
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => createTag(redis, tenant.account, name)))
    const person = (n: number, name = `P${n}`) => ({ phone: `49151000000${n}`, name, email: '' })
    await importContacts(redis, tenant.account, a?.id ?? 0, [person(1), person(2), person(3, '')])
    await importContacts(redis, tenant.account, b?.id ?? 0, [person(2), person(4)])
    await importContacts(redis, tenant.account, c?.id ?? 0, [person(4)])
    const id = await service.create({ tags: [a?.id, b?.id], except: [c?.id] })
    const { state, preflight, progress } = await service.checked(id)
    expect({ state, total: progress.total }).toEqual({ state: 'ready', total: 2 })
    expect(preflight).toMatchObject({
      recipients: 2,
      excluded: 1,
      refused: { duplicate: 1, number: 0, parameter: 1, unreadable: 0 },
      problems: [],
      rate: 10,
    })
    expect(await refusedLines(id)).toEqual([
      expect.stringMatching(/^contact \d+,491510000003,parameter,contact.name is empty$/),
      expect.stringMatching(/^contact \d+,491510000002,duplicate,/),
    ])
    const lines = (await service.request('GET', `/campaigns/${id}/export?format=ndjson`)).text.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { recipient: '491510000001', state: 'queued', message_id: null },
      { recipient: '491510000002', state: 'queued' },
    ])
  })

  test('that join the tag later are not in the frozen list', async () => {
    const { tag } = await service.addPeople(5)
    const id = await service.ready({ tags: [tag] })
    await importContacts(service.redis, service.tenant.account, tag, [
      { phone: '491510000099', name: 'Late', email: '' },
    ])
    expect((await service.show(id)).progress.total).toBe(5)
  })

  test('whose turn would come after the validity are counted', async () => {
    const { tag } = await service.addPeople(2_000)
    // Long enough that some time is left when it is shown, however slow the machine is.
    const until = new Date(Date.now() + 150_000).toISOString()
    const id = await service.ready({ tags: [tag] }, { valid_until: until })
    const { preflight } = await service.show(id)
    // Ten a second for somewhat less than 150 seconds.
    expect(preflight?.would_expire).toBeGreaterThanOrEqual(500)
    expect(preflight?.would_expire).toBeLessThan(2_000)
  })
})

describe('uploaded rows', () => {
  test('of a CSV file are read by their columns, and each fault has its line', async () => {
    const id = await service.create({ rows: { phone: 'Mobile' } })
    const rows = [
      'name,Mobile,city',
      'Ann,+49 1520 1000001,Berlin',
      'Bob,12,Bonn',
      ',+49 1520 1000002,Kiel',
      'Ann again,4915201000001,Berlin',
      '"A\tB",+49 1520 1000003,Ulm',
      'too,+49 1520 1000004,many,cells',
    ].join('\r\n')
    const uploaded = await service.upload(id, rows)
    expect(uploaded).toMatchObject({ status: 200, body: { data: { id, rows: expect.any(Number) } } })
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('ready')
    expect(preflight).toMatchObject({
      recipients: 1,
      refused: { duplicate: 1, number: 1, parameter: 2, unreadable: 1 },
    })
    expect((await refusedLines(id)).map((line) => line.split(',')[0])).toEqual([
      'line 3',
      'line 4',
      'line 5',
      'line 6',
      'line 7',
    ])
  })

  test('with garbled text are sent as they are, with a warning that quotes none of it', async () => {
    const id = await service.create({ rows: {} })
    const names = [
      'Ann',
      ' "Ben"',
      'JosÃ©',
      'MÃ¼ller',
      'Fish &amp; Chips',
      'ãÍãÏ',
      '\u200b',
      'one\u2028two',
      'Cy_x000D_',
    ]
    const rows = names.map((name, i) => `+44 7700 90061${i},${name}`)
    // As a phone, a chat window and a spreadsheet write a number.
    const numbers = ['\u202a+44 7700 900621\u202c', '+44\u20117700\u2011900622', '+44\u00a07700\u00a0900623']
    await service.upload(id, ['phone,name', ...rows, ...numbers.map((number) => `${number},Dee`)].join('\n'))
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('ready')
    expect(preflight).toMatchObject({ recipients: 9, refused: { number: 0, parameter: 3 } })
    expect(preflight?.warnings).toEqual([
      { path: 'recipients', message: expect.stringMatching(/^in 2 values \(the first: line 4\) UTF-8 was read/) },
      { path: 'recipients', message: expect.stringMatching(/^in 1 value \(line 6\) there are codes of web pages/) },
      { path: 'recipients', message: expect.stringMatching(/^in 1 value \(line 7\) there are only accented letters/) },
    ])
    expect(await refusedLines(id)).toEqual([
      expect.stringMatching(/^line 8,447700900616,parameter,row.name is empty$/),
      expect.stringMatching(/^line 9,447700900617,parameter,row.name: a control character$/),
      expect.stringMatching(/^line 10,447700900618,parameter,"row.name: a line break or tab that a spreadsheet wrote/),
    ])
  })

  test('are read in the encoding that a person names, and an unknown encoding is refused', async () => {
    const id = await service.create({ rows: {} })
    const arabic = Buffer.concat([Buffer.from('phone,name\n+447700900631,'), Buffer.from([0xe3, 0xcd, 0xe3, 0xcf])])
    const put = (encoding: string) =>
      service.tenant.api.post(`/campaigns/${id}/rows?encoding=${encoding}`, arabic, { 'content-type': 'text/csv' })
    const refused = await put('klingon')
    expect([refused.status, refused.json]).toMatchObject([400, { error: { details: [{ path: 'encoding' }] } }])
    const taken = await put('cp1256')
    expect(taken.json).toMatchObject({ data: { read_as: { encoding: 'windows-1256' } } })
    const { preflight } = await service.checked(id)
    expect(preflight).toMatchObject({ recipients: 1, warnings: [] })
  })

  test.each([
    ['text/csv', 'phone,pre\u0301nom\n+447700900641,Zoë\n'],
    ['application/x-ndjson', '{"phone":"+447700900641","pre\u0301nom":"Zoë"}\n'],
  ])('of %s match a column name whose accent is encoded differently', async (type, rows) => {
    const parameters = [{ type: 'text', text: { from: 'row.pr\u00e9nom' } }]
    const template = { name: 'spring', language: { code: 'en_US' }, components: [{ type: 'BODY', parameters }] }
    const id = await service.create({ rows: {} }, { template })
    await service.upload(id, rows, type)
    expect((await service.checked(id)).preflight).toMatchObject({ recipients: 1, problems: [] })
  })

  test('with a quote that is never closed are refused with the line, and the rows before it stay', async () => {
    const id = await service.create({ rows: {} })
    await service.upload(id, 'phone,name\n4915201000001,Ann\n')
    const before = (await service.record(id))?.rows_file
    const open = 'phone,name\n4915201000001,A\n\n4915201000002,"Bob\n4915201000003,N\n'
    const { status, body } = await service.upload(id, open)
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'invalid_request' })
    const sentence = 'the record that begins on line 4 opens a quote and never closes it'
    expect(body.message).toBe(`${sentence}; mend it and upload it again.`)
    expect((await service.record(id))?.rows_file).toBe(before)
    // One that was stored before they were refused.
    const folder = join(service.config.dataDir, campaignFolder(parseCampaignId(id) ?? { lane: 0, number: 0 }))
    writeFileSync(join(folder, before ?? ''), open)
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      { path: 'recipients.rows', message: `${sentence}; mend it and upload it again` },
    ])
  })

  test('of NDJSON may have numbers, and lines that are not objects are left out', async () => {
    const id = await service.create({ rows: {} })
    const rows = [
      '{"phone":4915201000011,"name":"Ann"}',
      'nonsense',
      '',
      '{"phone":"4915201000012","name":7}',
      '[]',
    ].join('\n')
    await service.upload(id, rows, 'application/x-ndjson')
    const { preflight } = await service.checked(id)
    expect(preflight).toMatchObject({ recipients: 2, refused: { unreadable: 2 } })
    expect((await refusedLines(id)).map((line) => line.split(',')[0])).toEqual(['line 2', 'line 5'])
  })

  test('without a column that the template needs block the campaign and name the column', async () => {
    const id = await service.create({ rows: { phone: 'mobile' } })
    await service.upload(id, 'phone,vorname\n4915201000001,Ann\n')
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      {
        path: 'recipients.rows',
        message: 'the file has no column "mobile", "name"; its columns are "phone", "vorname"',
      },
    ])
    // A file without a line of columns: what is kept of it names nobody.
    await service.upload(id, '+49 1520 1000001,Ann\n4915201000002,Bob\n')
    expect((await service.checked(id)).preflight?.problems[0]?.message).toContain('its columns are "+…", "Ann"')
    await service.upload(id, 'mobile,name\n4915201000001,Ann\n')
    expect((await service.checked(id)).state).toBe('ready')
  })

  test('with a needed column twice block the campaign; a column that is not needed may come twice', async () => {
    const id = await service.create({ rows: { phone: 'mobile' } })
    await service.upload(id, 'mobile,name, name,mobile\n4915201000001,Ann,Smith,4915201000002\n')
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      { path: 'recipients.rows', message: 'the file has several columns "mobile", "name"; name each column once' },
    ])
    await service.upload(id, 'mobile,name,note,note\n4915201000001,Ann,a,b\n')
    expect((await service.checked(id)).state).toBe('ready')
  })

  test('are refused when none were uploaded, the type is wrong, or the campaign is for contacts', async () => {
    const id = await service.create({ rows: {} })
    const early = await service.request('POST', `/campaigns/${id}/preflight`)
    expect({ status: early.status, code: early.json().error.code }).toEqual({ status: 400, code: 'no_rows' })
    expect((await service.upload(id, 'x', 'text/plain')).status).toBe(415)
    const { tag } = await service.addPeople(1)
    const ofContacts = await service.create({ tags: [tag] })
    expect((await service.upload(ofContacts, 'phone\n1')).body.error.code).toBe('no_rows_expected')
  })

  test('cannot be changed once the campaign has started', async () => {
    const id = await service.create({ rows: {} })
    await service.upload(id, 'phone,name\n4915201000021,Ann\n')
    await service.checked(id)
    await service.move(id, 'start')
    const late = await service.upload(id, 'phone,name\n4915201000022,Bob\n')
    expect({ status: late.status, code: late.body.error.code }).toEqual({ status: 422, code: 'wrong_state' })
    await service.reaches(id, 'done')
    expect(await service.ledger()).not.toContain('4915201000022')
  })
})

describe('a template that is imported again', () => {
  const again = (components: object[], more: object = {}) =>
    importTemplate(
      service.redis,
      service.tenant.account,
      templateSchema.parse({ ...SPRING, name: 'again', ...more, components }),
    )
  const ONE = [{ type: 'BODY', text: 'Dear {{1}}, spring is here.' }]
  const others: [string, object[]][] = [
    ['another parameter', [{ type: 'BODY', text: 'Dear {{1}}, {{2}} is here.' }]],
    ['a header', [{ type: 'HEADER', format: 'IMAGE' }, ...ONE]],
    [
      'a button',
      [...ONE, { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Go', url: 'https://example.com/{{1}}' }] }],
    ],
  ]

  async function readyAgain(): Promise<string> {
    await again(ONE)
    const { tag } = await service.addPeople(3)
    const { template } = service.definition({ tags: [tag] })
    return service.ready({ tags: [tag] }, { template: { ...template, name: 'again' } })
  }

  test.each(others)('with %s stops campaigns whose values fit the old version', async (_what, components) => {
    const id = await readyAgain()
    await again(components)
    const started = await service.request('POST', `/campaigns/${id}/start`)
    expect([started.status, started.json().error.code]).toEqual([400, 'template_changed'])
    await again(ONE)
    await pauseLane(service.redis, queues, service.lane, { reason: '', by: '' })
    await service.move(id, 'start')
    await service.move(id, 'pause')
    await again(components)
    const resumed = await service.request('POST', `/campaigns/${id}/resume`)
    expect([resumed.status, resumed.json().error.code]).toEqual([400, 'template_changed'])
    expect(resumed.json().message).toContain('template.components')
    await again(ONE)
    await service.move(id, 'resume')
    await again(components)
    expect((await service.reaches(id, 'paused')).reason).toContain('has changed')
    await service.move(id, 'cancel')
    await resumeLane(service.redis, queues, service.lane)
  })

  test('with another wording lets them go on', async () => {
    const id = await readyAgain()
    await again([{ type: 'BODY', text: 'Hello {{1}}, spring has come.' }])
    await service.move(id, 'start')
    await service.reaches(id, 'done')
  })
})

describe('what blocks a campaign', () => {
  test('is reported all at once: unknown template, nobody to send to', async () => {
    const empty = await createTag(service.redis, service.tenant.account, 'empty')
    const unknown = { template: { name: 'winter', language: { code: 'de' }, components: [] } }
    const id = await service.create({ tags: [empty.id] }, unknown)
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      { path: 'template.name', message: 'There is no approved template winter in the language de.' },
      { path: 'recipients', message: 'no valid recipients' },
    ])
    const start = await service.request('POST', `/campaigns/${id}/start`)
    expect([start.status, start.json().error.code]).toEqual([422, 'wrong_state'])
  })

  test('may be tags that do not exist, also among the excluded ones', async () => {
    const { tag } = await service.addPeople(2)
    const id = await service.create({ tags: [tag, 98_765], except: [98_766] })
    const { state, preflight } = await service.checked(id)
    expect(state).toBe('blocked')
    expect(preflight?.recipients).toBe(2)
    expect(preflight?.problems).toEqual([
      { path: 'recipients.tags[1]', message: 'there is no tag 98765' },
      { path: 'recipients.except[0]', message: 'there is no tag 98766' },
    ])
  })

  test('may be components that fit no recipient', async () => {
    const { tag } = await service.addPeople(3)
    const { template } = service.definition({ tags: [tag] })
    const two = [
      { type: 'BODY', parameters: [...(template.components[0]?.parameters ?? []), { type: 'text', text: 'x' }] },
    ]
    const id = await service.create({ tags: [tag] }, { template: { ...template, components: two } })
    const { preflight } = await service.checked(id)
    expect(preflight?.problems).toEqual([
      { path: 'template.components[0].parameters', message: 'expected 1 parameter, got 2' },
    ])
  })

  test('may appear after the preflight: a template that is paused by then is not sent', async () => {
    const { tag } = await service.addPeople(3)
    const id = await service.ready({ tags: [tag] })
    const { account } = service.tenant
    await importTemplate(service.redis, account, templateSchema.parse({ ...SPRING, status: 'PAUSED' }))
    const start = await service.request('POST', `/campaigns/${id}/start`)
    await importTemplate(service.redis, account, templateSchema.parse(SPRING))
    expect(start.json().message).toBe('The template spring is PAUSED, not APPROVED.')
    expect([start.status, start.json().error.code]).toEqual([400, 'template_not_approved'])
  })
})

test('a campaign is scheduled only for a time at which its messages are still valid', async () => {
  const { tag } = await service.addPeople(60)
  const now = Date.now()
  const inMs = (ms: number) => new Date(now + ms).toISOString()
  const id = await service.ready({ tags: [tag] }, { valid_until: inMs(3_600_000) })
  const late = await service.request('POST', `/campaigns/${id}/schedule`, { at: inMs(3_700_000) })
  expect(late.status).toBe(400)
  expect(late.json().error.details[0].path).toBe('at')
  const past = await service.request('POST', `/campaigns/${id}/schedule`, { at: inMs(-1_000) })
  expect(past.json().error.details).toEqual([{ path: 'at', message: 'must be in the future' }])
  expect((await service.show(id)).preflight?.would_expire).toBe(0)
  // Two seconds of ten a second are left then.
  const scheduled = await service.move(id, 'schedule', { at: inMs(3_598_000) })
  expect(scheduled.preflight?.would_expire).toBeGreaterThanOrEqual(40)
})

describe('a definition', () => {
  test('may have null for components, but not where a value may have been intended', async () => {
    const template = { name: 'spring', language: { code: 'en_US' }, components: null }
    const id = await service.create({ rows: {} }, { template })
    expect(await service.show(id)).toMatchObject({ state: 'draft' })
    const body = { sender: service.tenant.cloudNumber, template, recipients: { rows: {} }, valid_until: null }
    const { status, text } = await service.request('POST', '/campaigns', body)
    expect([status, text]).toEqual([400, expect.stringContaining('valid_until')])
  })

  test('that is wrong is refused with all its faults', async () => {
    const answer = await service.request('POST', '/campaigns', {
      sender: '',
      template: {
        name: 'spring',
        language: { code: 'en_US' },
        components: [{ type: 'BODY', parameters: [{ type: 'text', text: { from: 'row.city' } }] }],
      },
      recipients: { tags: [1] },
      valid_until: '2001-01-01T00:00:00Z',
    })
    expect(answer.status).toBe(400)
    expect(answer.json().error.details).toEqual([
      { path: 'sender', message: 'at least 1 character, got 0' },
      {
        path: 'template.components[0].parameters[0].text.from',
        message:
          'expected contact.name, contact.phone or contact.email, as the recipients are contacts, got "row.city"',
      },
    ])
  })

  test('with a sender that the account does not have is refused', async () => {
    const answer = await service.request('POST', '/campaigns', {
      ...service.definition({ tags: [1] }),
      sender: '+49 170 0000000',
    })
    expect(answer.json().error.code).toBe('unknown_sender')
  })
})

test("another account's campaign gives the same answers as one that never existed", async () => {
  const { tag } = await service.addPeople(1)
  const id = await service.create({ tags: [tag] })
  const other = await service.addTenant()
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/start'],
    ['GET', '/export'],
    ['GET', '/refused'],
    ['POST', '/cancel'],
  ] as const) {
    const theirs = await service.request(method, `/campaigns/${id}${path}`, undefined, other.apiKey)
    const nobodys = await service.request(method, `/campaigns/cmp_1_999999${path}`, undefined, other.apiKey)
    expect(theirs.status).toBe(404)
    const strip = (text: string) => text.replace(/"request_id":"[^"]+"/, '')
    expect(strip(theirs.text)).toBe(strip(nobodys.text))
  }
  expect((await service.upload(id, 'phone\n1', 'text/csv', other.apiKey)).status).toBe(404)
  expect((await service.request('GET', '/campaigns', undefined, other.apiKey)).json().data).toEqual([])
})

test('a key that may only look cannot change, and one that may only change cannot look', async () => {
  const { redis, tenant } = service
  const keyWith = async (permission: 'messages:read' | 'messages:send') =>
    (await createCredential(redis, tenant.account, [permission], Date.now())).secret
  const { tag } = await service.addPeople(1)
  const id = await service.create({ tags: [tag] })
  const [reads, sends] = await Promise.all([keyWith('messages:read'), keyWith('messages:send')])
  expect((await service.request('POST', `/campaigns/${id}/cancel`, undefined, reads)).status).toBe(403)
  expect((await service.request('GET', `/campaigns/${id}`, undefined, sends)).status).toBe(403)
  expect((await service.request('GET', `/campaigns/${id}`, undefined, 'nonsense')).status).toBe(401)
  expect((await service.request('POST', `/campaigns/${id}/cancel`, undefined, sends)).status).toBe(200)
})
