// Pins: a file that a spreadsheet program has saved is read right, or refused in one sentence that says what to do; and
// the answer says how it was read. The same for rows, contacts and opt-outs, over HTTP and on the command line.
// Real: Redis, HTTP, producer, worker, files. Stood in for: WhatsApp.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { NormalCsv } from '../../src/files/normal-csv.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { readMembers } from '../../src/people/contacts/contacts.ts'
import { importCsv } from '../../src/people/contacts/import-csv.ts'
import { readCsv } from '../../src/producer/api/csv-upload.ts'
import { eraseInRows } from '../../src/recipients/person-in-rows.ts'
import { openSnapshot } from '../../src/recipients/snapshot.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { EXPORTS, ONE_COLUMN, windows1252 } from '../support/spreadsheet-exports.ts'

let service: CampaignService
let key = ''
const folder = mkdtempSync(join(tmpdir(), 'laneway-exports-'))

beforeAll(async () => {
  service = await startCampaigns()
  key = await keyOf(service.tenant.account)
})
const MAY = ['admin', 'messages:send', 'messages:read', 'contacts:read', 'contacts:write'] as const
const keyOf = async (account: number) => (await createCredential(service.redis, account, MAY, Date.now())).secret
/** An account that opts nobody else out. Each import of opt-outs waits until all workers know of them. */
async function newAccount(): Promise<{ account: number; key: string }> {
  const account = await createAccount(service.redis, 'Imports')
  return { account, key: await keyOf(account) }
}
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true })
})

async function post(path: string, bytes: Buffer | string, { type = 'text/csv', as = key } = {}) {
  const { status, text } = await service.api.as(as).post(path, bytes, { 'content-type': type })
  return { status, body: JSON.parse(text) }
}
const upload = (id: string, bytes: Buffer | string, query = '') => post(`/campaigns/${id}/rows${query}`, bytes)

/** Whom a campaign is frozen for. */
async function frozen(id: string) {
  const record = await service.record(id)
  if (!record) throw new Error(id)
  const list = await openSnapshot(openFolder(service.config.dataDir), record, record.snapshot)
  return list.readAll(0, record.total)
}
const membersOf = async (tag: number) => {
  const members = await readMembers(service.redis, service.tenant.account, tag, 0, 10)
  return members.map(({ phone, name }) => [phone, name])
}
const cli = (...words: string[]) => runCli(words, service.settings)
const account = () => ['--account', String(service.tenant.account)]
let files = 0
function written(bytes: Buffer | string): string {
  const path = join(folder, `people ${++files}.csv`)
  writeFileSync(path, bytes)
  return path
}
const PHONES = ['447700900201', '447700900202']

describe.each(EXPORTS)('a file from $program', ({ program, bytes, encoding, separator, columns, names }) => {
  const read_as = { encoding, separator, columns }

  test('is read correctly as rows of a campaign, over HTTP and on the command line', async () => {
    const id = await service.create({ rows: {} })
    expect(await upload(id, bytes)).toMatchObject({ status: 200, body: { data: { id, rows: 2, read_as } } })
    expect(await service.checked(id)).toMatchObject({ state: 'ready', preflight: { recipients: 2 } })
    expect(await frozen(id)).toEqual(PHONES.map((to, i) => ({ to, values: [names[i]] })))

    const again = await service.create({ rows: {} })
    const run = await cli('campaigns', 'upload', again, written(bytes), '--json')
    expect(documentIn(run.stdout)).toMatchObject({ rows: 2, read_as })
    await service.checked(again)
    expect(await frozen(again)).toEqual(await frozen(id))
  })

  test('is read correctly as contacts, over HTTP and on the command line', async () => {
    const answer = await post(`/contacts/import?tag=${encodeURIComponent(program)}`, bytes)
    expect(answer).toMatchObject({ status: 200, body: { data: { imported: 2, refused: 0, read_as } } })
    expect(await membersOf(answer.body.data.tag.id)).toEqual(PHONES.map((phone, i) => [phone, names[i]]))

    const run = await cli('contacts', 'import', written(bytes), ...account(), '--tag', `${program} (2)`, '--json')
    const told = documentIn(run.stdout)
    expect(told).toMatchObject({ imported: 2, refused: 0, read_as })
    expect(await membersOf(told.tag.id)).toEqual(PHONES.map((phone, i) => [phone, names[i]]))
  })
})

test.concurrent.each(EXPORTS)(
  'a file from $program is read correctly as opt-outs, over HTTP and on the command line',
  async ({ bytes, encoding, separator, columns }) => {
    const read_as = { encoding, separator, columns }
    const own = await newAccount()
    expect(await post('/opt-outs/import', bytes, { as: own.key })).toMatchObject({
      status: 200,
      body: { data: { imported: 2, refused: 0, read_as } },
    })
    const listed = (await service.request('GET', '/opt-outs', undefined, own.key)).json().data
    expect(listed.map(({ person }: { person: string }) => person).sort()).toEqual(PHONES)
    const run = await cli('opt-outs', 'import', written(bytes), '--account', String(own.account), '--json')
    expect(documentIn(run.stdout)).toMatchObject({ imported: 2, added: 0, refused: 0, read_as })
  },
)

test('the command line reports in one line how a file was read', async () => {
  const id = await service.create({ rows: {} })
  const file = written(windows1252('phone;name\r\n+44 7700 900201;José\r\n'))
  const line = 'Read as windows-1252, separated by semicolons, with the columns phone, name.'
  expect((await cli('campaigns', 'upload', id, file)).stdout).toContain(line)
  expect((await cli('contacts', 'import', file, ...account(), '--tag', 'Told')).stdout).toContain(line)
  expect((await cli('opt-outs', 'import', file, ...account())).stdout).toContain(line)
  await cli('opt-outs', 'remove', PHONES.join(','), ...account())
})

test('a file of one column counts as separated by commas', async () => {
  const read_as = { encoding: 'utf-8', separator: ',', columns: ['phone'] }
  expect((await post('/opt-outs/import', ONE_COLUMN)).body.data).toMatchObject({ imported: 2, refused: 0, read_as })
  expect((await post('/contacts/import?tag=bare', ONE_COLUMN)).body.data).toMatchObject({ imported: 2, read_as })
  await cli('opt-outs', 'remove', PHONES.join(','), ...account())
})

test('only the typed text is sent: "José" of a Windows-1252 file arrives as "José"', async () => {
  const id = await service.create({ rows: {} })
  await upload(id, windows1252('phone,name\r\n+44 7700 900211,José\r\n'))
  await service.checked(id)
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  const [message] = (await service.request('GET', '/messages?to=%2B447700900211')).json().data
  expect(message.text).toBe('Dear José, spring is here.')
})

describe('a file whose encoding changes', () => {
  /** Long rows, 150 KB in all: the change comes in another piece of the stream than the beginning. */
  const ROWS = 150
  const NOTE = 'x'.repeat(1_000)
  const many = (name: string) => `phone,name,note\r\n${`+44 7700 900201,${name},${NOTE}\r\n`.repeat(ROWS)}`

  test('is Windows-1252 when only ASCII came before', async () => {
    const id = await service.create({ rows: {} })
    const bytes = Buffer.concat([Buffer.from(many('Ann')), windows1252('+44 7700 900202,Zoë,\r\n')])
    expect((await upload(id, bytes)).body.data).toMatchObject({ rows: ROWS + 1, read_as: { encoding: 'windows-1252' } })
    await service.checked(id)
    expect((await frozen(id)).at(-1)).toEqual({ to: '447700900202', values: ['Zoë'] })
  })

  const mixtures: [string, Buffer, string][] = [
    [
      'is refused where UTF-8 came before',
      Buffer.concat([Buffer.from(many('José')), windows1252('+44 7700 900202,Zoë,\r\n')]),
      `line ${ROWS + 2}, character 19 is not UTF-8, but what is before it is`,
    ],
    [
      'is refused where Windows-1252 came before',
      Buffer.concat([windows1252(many('José')), Buffer.from('+44 7700 900202,Zoë,\r\n')]),
      `line ${ROWS + 2}, character 19 is UTF-8, but what is before it is not`,
    ],
  ]
  test.concurrent.each(mixtures)('%s, with the place and what to do', async (_what, bytes, place) => {
    const sentence = expect.stringContaining(place)
    const advice = expect.stringMatching(/save the file as UTF-8, or name its encoding/)
    const id = await service.create({ rows: {} })
    for (const path of [`/campaigns/${id}/rows`, '/contacts/import?tag=Mixed', '/opt-outs/import']) {
      const { status, body } = await post(path, bytes)
      expect({ path, status, code: body.error?.code }).toEqual({ path, status: 400, code: 'invalid_request' })
      expect(body.message).toEqual(sentence)
      expect(body.message).toEqual(advice)
    }
    expect((await service.record(id))?.rows_file).toBe('')
    for (const words of [
      ['campaigns', 'upload', id, written(bytes)],
      ['contacts', 'import', written(bytes), ...account(), '--tag', 'Mixed'],
      ['opt-outs', 'import', written(bytes), ...account()],
    ]) {
      const { code, stderr } = await cli(...words)
      expect(code).toBe(1)
      expect(stderr).toEqual(sentence)
      expect(stderr).toEqual(advice)
    }
    // It may be right all the same: a person says so.
    const read_as = { encoding: 'windows-1252' }
    expect((await upload(id, bytes, '?encoding=windows-1252')).body.data).toMatchObject({ read_as })
  })
})

describe('a person can choose how a file is read', () => {
  const bytes = windows1252('sep=;\r\nphone;"name, first",name\r\n')
  const rows = Buffer.concat([bytes, windows1252('+44 7700 900201;x,José\r\n')])

  test('over HTTP', async () => {
    const id = await service.create({ rows: { phone: 'phone;"name' } })
    const answer = await upload(id, rows, '?encoding=windows-1250&separator=,')
    const columns = ['phone;"name', 'first"', 'name']
    expect(answer.body.data).toMatchObject({ read_as: { encoding: 'windows-1250', separator: ',', columns } })
    const contacts = await post('/contacts/import?tag=Said&separator=tab', 'phone\tname\n+44 7700 900201\tAnn;Bob,x\n')
    expect(contacts.body.data).toMatchObject({ imported: 1, read_as: { separator: '\t' } })
    const optOuts = await post('/opt-outs/import?encoding=utf-16le', Buffer.from('phone\n+44 7700 900201\n', 'utf16le'))
    expect(optOuts.body.data).toMatchObject({ imported: 1, read_as: { encoding: 'utf-16le' } })
    await cli('opt-outs', 'remove', PHONES.join(','), ...account())
    expect((await upload(id, rows, '?encoding=ebcdic')).body.error.details[0].path).toBe('encoding')
    expect((await upload(id, rows, '?separator=x')).body.error.details[0].path).toBe('separator')
    const ndjson = await post(`/campaigns/${id}/rows?separator=tab`, '{}\n', { type: 'application/x-ndjson' })
    expect([ndjson.status, ndjson.body.error.details[0].path]).toEqual([400, 'separator'])
  })

  test('on the command line, and the preflight uses it', async () => {
    const id = await service.create({ rows: {} })
    const file = written(windows1252('phone;a,name;b\r\n+44 7700 900201;Ann,x;y\r\n'))
    await cli('campaigns', 'upload', id, file, '--separator', ';')
    expect((await service.checked(id)).preflight?.problems[0]?.message).toContain('"a,name"')
    const ndjson = join(folder, 'people.ndjson')
    writeFileSync(ndjson, '{"phone":"+44 7700 900201","name":"Ann"}\n')
    expect((await cli('campaigns', 'upload', id, ndjson)).stdout).toMatch(/^Uploaded 1 row to [^\n]+\n$/)
    expect((await cli('campaigns', 'upload', id, ndjson, '--separator', ';')).code).toBe(1)
    const named = written('phone|name\n+44 7700 900201|Ann\n')
    const run = await cli('campaigns', 'upload', id, named, '--separator', '|', '--encoding', 'windows-1251')
    expect(run.stdout).toContain('Read as windows-1251, separated by bars, with the columns phone, name.')
    await service.checked(id)
    expect(await frozen(id)).toEqual([{ to: '447700900201', values: ['Ann'] }])
    const options = ['--encoding', 'utf-16be', '--separator', 'tab']
    const be = written(Buffer.from('phone\tname\n+44 7700 900201\tAnn\n', 'utf16le').swap16())
    expect((await cli('contacts', 'import', be, ...account(), '--tag', 'Be', ...options)).stdout).toContain('by tabs')
    expect((await cli('opt-outs', 'import', be, ...account(), ...options)).stdout).toContain('Read as utf-16be')
    expect((await cli('opt-outs', 'import', be, ...account(), '--encoding', 'x')).code).toBe(2)
    await cli('opt-outs', 'remove', PHONES.join(','), ...account())
  })
})

describe.concurrent('a file that is no text of a spreadsheet is refused in one sentence', () => {
  test.each([
    [
      'a workbook',
      Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(200, 0xe9)]),
      /workbook.*save the sheet as CSV/,
    ],
    [
      'UTF-16 without its mark',
      Buffer.from('phone,name\r\n1,a\r\n', 'utf16le'),
      /name its encoding if it is UTF-16 without its mark/,
    ],
    ['a separator that nobody knows', Buffer.from('sep=x\nphonexname\n'), /sep= names another separator/],
  ])('%s', async (_what, bytes, sentence) => {
    const id = await service.create({ rows: {} })
    for (const path of [`/campaigns/${id}/rows`, '/contacts/import?tag=None', '/opt-outs/import']) {
      const { status, body } = await post(path, bytes)
      expect({ path, status }).toEqual({ path, status: 400 })
      expect(body.message).toMatch(sentence)
    }
  })
})

test('a value with a lost character or a control character is refused with its line and column', async () => {
  const id = await service.create({ rows: {} })
  const rows = ['phone,name', '+44 7700 900201,Jos\uFFFD', '+44 7700 900202,A\u0081', '+44 7700 900203,Ann']
  await upload(id, rows.join('\n'))
  expect((await service.checked(id)).preflight).toMatchObject({ recipients: 1, refused: { parameter: 2 } })
  const { text } = await service.request('GET', `/campaigns/${id}/refused`)
  expect(text).toContain('line 2,447700900201,parameter,"row.name: a character was lost before')
  expect(text).toContain('line 3,447700900202,parameter,row.name: a control character')
  const lines = ['{"phone":"447700900201","name":"\\ud800"}', '{"phone":"447700900202","name":"Jos\u00e9"}']
  await post(`/campaigns/${id}/rows`, Buffer.from(lines.join('\n'), 'latin1'), { type: 'application/x-ndjson' })
  expect((await service.checked(id)).preflight).toMatchObject({ recipients: 0, refused: { parameter: 2 } })
  expect((await post('/contacts/import?tag=Lost', rows.join('\n'))).body.data.refused_rows).toMatchObject([
    { line: 2, reason: expect.stringMatching(/^name: a character was lost before; save the file anew/) },
    { line: 3, reason: 'name: a control character' },
  ])
})

describe('a number', () => {
  const typed = ['0044 7700 900201', 'tel:+44-7700-900202', '4.4772E+11', '4,4772E+11', '447700900205.0']
  const rounded = /the spreadsheet .*; format the column as text/

  test('may begin with 00 or tel:, and one rounded by the spreadsheet is refused with what to do', async () => {
    const id = await service.create({ rows: {} })
    const csv = `phone;name\n${typed.map((phone) => `${phone};Ann\n`).join('')}`
    await upload(id, csv)
    expect((await service.checked(id)).preflight).toMatchObject({ recipients: 2, refused: { number: 3 } })
    expect((await frozen(id)).map(({ to }) => to)).toEqual(PHONES)
    const lines = (await service.request('GET', `/campaigns/${id}/refused`)).text.trimEnd().split('\n').slice(1)
    for (const line of lines) expect(line).toMatch(rounded)
    const contacts = (await post('/contacts/import?tag=Numbers', csv)).body.data
    expect(contacts).toMatchObject({ imported: 2, refused: 3 })
    for (const { reason } of contacts.refused_rows) expect(reason).toMatch(rounded)
    const optOuts = (await post('/opt-outs/import', csv)).body.data
    expect(optOuts).toMatchObject({ imported: 2, refused: 3 })
    for (const { reason } of optOuts.refused_rows) expect(reason).toMatch(rounded)
    await cli('opt-outs', 'remove', PHONES.join(','), ...account())
  })

  test('of a message is checked as strictly as ever', async () => {
    const answer = await post('/opt-outs', JSON.stringify({ person: '0044 7700 900201' }), { type: 'application/json' })
    expect(answer.status).toBe(400)
  })
})

describe('a column that is missing', () => {
  test('and differs only in case and spaces is named', async () => {
    const id = await service.create({ rows: { phone: 'mobile number' } })
    await upload(id, 'Mobile Number ,name\n+44 7700 900201,Ann\n')
    expect((await service.checked(id)).preflight?.problems).toEqual([
      {
        path: 'recipients.rows',
        message: 'the file has no column "mobile number" but "Mobile Number"; its columns are "Mobile Number", "name"',
      },
    ])
  })

  test('is named together with the existing ones', async () => {
    for (const path of ['/contacts/import?tag=None', '/opt-outs/import']) {
      expect((await post(path, 'vorname;mobil\nAnn;1\n')).body.message).toContain('"vorname", "mobil"')
    }
  })
})

test('a file refused for its header leaves no timer on its upload', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const incoming = new IncomingMessage(new Socket())
    incoming.headers['content-type'] = 'text/csv'
    incoming.complete = true
    incoming.push('vorname\nAnn\n')
    incoming.push(null)
    const report = { add: async () => {} }
    const work = (csv: NormalCsv) =>
      importCsv(service.redis, { account: service.tenant.account, tag: 'None', csv, report })
    await expect(readCsv({ incoming, assertStillAllowed: async () => {} }, {}, work)).rejects.toThrow(
      'expected a header',
    )
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a person is erased from a file in another encoding, and everybody else stays', async () => {
  const id = await service.create({ rows: {} })
  await upload(id, windows1252('sep=;\rphone;name\r0044 7700 900231;José\r+44 7700 900232;Zoë\r'))
  const found = (await service.request('GET', '/admin/people/447700900231', undefined, key)).json()
  expect(found.data.campaigns).toMatchObject([{ campaign: id, rows: 1 }])
  const { rows_file = '' } = (await service.record(id)) ?? {}
  const place = parseCampaignId(id)
  if (!place) throw new Error(id)
  const files = openFolder(service.config.dataDir)
  await eraseInRows(files, place, rows_file, 'phone', '447700900231')
  await service.checked(id)
  expect(await frozen(id)).toEqual([{ to: '447700900232', values: ['Zoë'] }])
})
