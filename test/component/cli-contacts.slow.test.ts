// `contacts import`. Real: files, Redis, and the compiled program where a process matters.
import { execFileSync } from 'node:child_process'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { readMembers } from '../../src/people/contacts/contacts.ts'
import { createTag, findTag, listTags } from '../../src/people/contacts/tags.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { documentIn, runCli, spawnCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { contactsOf } from '../support/state/accounts.ts'

let server: TestRedis
let redis: Redis
let account: number
let folder: string

/** The command line gives Redis seconds to come back, so this begins first and is read last. */
let diedUnder: ReturnType<typeof dieUnderImport>
beforeAll(async () => {
  diedUnder = dieUnderImport()
  server = await startRedis()
  redis = connectWithRetry(server.url)
})

beforeEach(async () => {
  account = await createAccount(redis, 'Shop')
  folder = mkdtempSync(join(tmpdir(), 'laneway-contacts-'))
  return () => rmSync(folder, { recursive: true, force: true })
})

afterAll(async () => {
  await (await diedUnder).end()
  redis.disconnect()
  await server.stop()
})

const people = () => join(folder, 'people.csv')
const wordsFor = (tag: string) => ['contacts', 'import', people(), '--account', String(account), '--tag', tag]

const importFile = (tag: string, ...more: string[]) => runCli([...wordsFor(tag), ...more], { REDIS_URL: server.url })

/** Writes the file and imports it. */
function importText(content: string, tag: string, ...more: string[]) {
  writeFileSync(people(), content)
  return importFile(tag, ...more)
}

const members = async (tag: number) =>
  (await readMembers(redis, account, tag, 0, 1_000)).map(({ phone, name, email }) => [phone, name, email])

const PEOPLE = `email,Phone,city,name
ann@example.org,+49 151 2345 6781,Ulm,"Ann ""A"" Ash"
,4915123456782,,
`

test('rows become contacts of a new tag, and only the JSON document is printed', async () => {
  writeFileSync(people(), PEOPLE)
  const run = await spawnCli([...wordsFor('Spring'), '--json'], { REDIS_URL: server.url })
  expect(run).toMatchObject({ code: 0, stderr: '' })
  const document = documentIn(run.stdout)
  expect(document).toEqual({
    tag: { id: expect.any(Number), name: 'Spring' },
    imported: 2,
    joined: 2,
    created: 2,
    refused: 0,
    repeated: 0,
    warnings: [],
    read_as: { encoding: 'utf-8', separator: ',', columns: ['email', 'Phone', 'city', 'name'] },
    refused_rows: [],
  })
  expect(await members(document.tag.id)).toEqual([
    ['4915123456781', 'Ann "A" Ash', 'ann@example.org'],
    ['4915123456782', null, null],
  ])
  expect(existsSync(join(folder, 'people.csv.refused.csv'))).toBe(false)
})

test('names that may be garbled are imported with a warning; a name without visible characters counts as none', async () => {
  const rows = 'phone,name\n+447700900651,JosÃ©\n+447700900652,\u3164\n+447700900653, "Lee, Bo"\n'
  const { warnings, tag } = documentIn((await importText(rows, 'Garbled', '--json')).stdout)
  expect(warnings).toEqual([expect.stringMatching(/^in 1 value \(line 2\) UTF-8 was read in another encoding/)])
  expect((await members(tag.id)).map(([, name]) => name)).toEqual(['JosÃ©', null, 'Lee, Bo'])
  expect((await importFile('Garbled')).stdout).toContain('Warning: in 1 value (line 2)')
})

test('importing again adds nobody, and finds the tag by its name in any case or by its id', async () => {
  const first = documentIn((await importText(PEOPLE, 'Spring', '--json')).stdout)
  for (const tag of ['SPRING', String(first.tag.id)]) {
    const again = documentIn((await importFile(tag, '--json')).stdout)
    expect(again).toMatchObject({ tag: first.tag, imported: 2, joined: 0, created: 0 })
  }
  expect(await members(first.tag.id)).toHaveLength(2)
})

test('contacts that already exist can join another tag', async () => {
  await importText(PEOPLE, 'Spring')
  const { id } = await createTag(redis, account, 'Summer')
  const run = await importFile(String(id))
  expect(run.stdout).toMatch(
    /^Tag +Summer \(\d+\)\nRows imported +2\nNew to the tag +2\nNew contacts +0\nRows refused +0\nRead as utf-8, separated by commas, .+\n$/,
  )
  expect(await members(id)).toHaveLength(2)
})

test('refused rows are reported with line and reason, in a private file that can be imported again', async () => {
  const report = join(folder, 'people.csv.refused.csv')
  const run = await importText(
    'name,phone,email\n"Ann, A",12,\n\nBob,4915123456782,\nCy,4915123456783,cy@\n,,\n',
    'Spring',
    '--json',
  )
  expect(documentIn(run.stdout)).toMatchObject({ imported: 1, refused: 2 })
  expect(run.stderr).toBe(`Refused rows are in ${report}.\n`)
  const [header, ann = '', cy = '', ...rest] = readFileSync(report, 'utf8').split('\n')
  expect(header).toBe('line,reason,name,phone,email')
  expect(ann).toMatch(/^2,"?phone: expected a full international phone number .+,"Ann, A",12,$/)
  expect(cy).toBe('5,email: not an email address,Cy,4915123456783,cy@')
  expect(rest).toEqual([''])
  expect(statSync(report).mode & 0o777).toBe(0o600)

  writeFileSync(people(), `${header}\n${cy}example.org\n`)
  const mended = documentIn((await importFile('Spring', '--json')).stdout)
  expect(mended).toMatchObject({ imported: 1, joined: 1, refused: 0 })
  expect(existsSync(report), 'the report of the earlier import').toBe(false)
})

test('a number that is in the file twice is reported, and its last row counts', async () => {
  const run = await importText('name,phone\nAnn,+4915123456790\nBob,+4915123456791\nAnna,04915123456790\n', 'Twice')
  expect(run.stdout).not.toContain('Repeated')
  const again = await importText('name,phone\nAnn,+4915123456790\nBob,+4915123456791\nAnna,4915123456790\n', 'Twice')
  expect(again.stdout).toContain('Rows imported   3\n')
  expect(again.stdout).toContain('Repeated        1 with a number from an earlier row; the last row counts\n')
})

test('--report sets where the report is written, and refuses the file itself', async () => {
  const report = join(folder, 'elsewhere.csv')
  const run = await importText('phone\n12\n', 'Spring', '--report', report)
  expect(run.stderr).toBe(`Refused rows are in ${report}.\n`)
  expect(existsSync(report)).toBe(true)

  const same = await importFile('Spring', '--report', people())
  expect(same).toMatchObject({ code: 2, stderr: 'error: --report: expected another file than the one imported.\n' })
  expect(readFileSync(people(), 'utf8')).toBe('phone\n12\n')
})

test('a report that cannot be written ends the import with one sentence', async () => {
  const nowhere = join(folder, 'nowhere', 'refused.csv')
  for (const [report, rows, reason] of [
    [nowhere, 1, 'there is no such file or folder'],
    // So many that the report is waited for.
    [nowhere, 20_000, 'there is no such file or folder'],
    [folder, 1, 'it is a folder'],
  ] as const) {
    expect(await importText(`phone\n${'12\n'.repeat(rows)}`, 'Spring', '--report', report)).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: The file ${report} cannot be used: ${reason}.\n`,
    })
  }
})

test.each([
  ['without a phone column', 'name;mobile\n', /^error: \/\S+\.csv: expected a header with the column phone, .+\n$/],
  ['that is empty', '', /^error: \/\S+\.csv: expected a header with the column phone, .+\n$/],
])('a file %s is refused before a tag is made', async (_, content, sentence) => {
  const run = await importText(content, 'Spring')
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toMatch(sentence)
  expect(await listTags(redis, account)).toEqual([])
})

test('a refused file that is named like a workbook is reported as one, with what to do', async () => {
  const file = join(folder, 'fake.xlsx')
  for (const words of [
    ['contacts', 'import', file, '--tag', 'Spring'],
    ['opt-outs', 'import', file],
  ]) {
    for (const content of ['nothing of the kind\n', Buffer.from('PK\x03\x04and so on')]) {
      writeFileSync(file, content)
      const run = await runCli([...words, '--account', String(account)], { REDIS_URL: server.url })
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(run.stderr.split('save the sheet as CSV')).toHaveLength(2)
      expect(run.stderr.startsWith(`error: ${file}: `)).toBe(true)
    }
  }
})

test('a quote that is never closed ends the import and is reported with its line', async () => {
  const run = await importText('phone,name\n4915123456781,Ann\n4915123456782,"Bob\n4915123456783,Cy\n', 'Spring')
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toMatch(
    /^error: \/\S+\.csv: the record that begins on line 3 opens a quote and never closes it;.+\n$/,
  )
})

test('a tag or account that does not exist and a tag of another account get the same error', async () => {
  const other = await createTag(redis, await createAccount(redis, 'Other'), 'Theirs')
  for (const id of [String(other.id), '999999']) {
    expect(await importText(PEOPLE, id)).toMatchObject({
      code: 1,
      stderr: `error: The list ${id} does not exist. [not_found]\n`,
    })
  }
  account = 999_999
  expect((await importFile('Spring')).stderr).toBe('error: The account does not exist: 999999. [not_found]\n')
})

test('an import interrupted by the death of Redis ends with one sentence; run again it completes, nobody twice', async () => {
  const { run, server: own, redis: again, of, tag, rows, file } = await diedUnder
  expect(run).toMatchObject({ code: 3, stdout: '' })
  expect(run.stderr).toMatch(/^error: Redis cannot be used: [^\n]+[^.]\.\n$/)
  const members = contactsOf(again, of).members(tag)
  expect(await members.count()).toBeLessThan(rows.length)

  writeFileSync(file, `phone,name\n${rows.join('')}`)
  const words = ['contacts', 'import', file, '--account', String(of), '--tag', 'Many', '--json']
  const imported = rows.length
  expect(documentIn((await runCli(words, { REDIS_URL: own.url })).stdout)).toMatchObject({ imported, refused: 0 })
  expect(await members.count()).toBe(rows.length)
  expect(await findTag(again, of, tag)).toMatchObject({ name: 'Many' })
})

/** Has Redis die under an import of which the rest comes only then, and starts it again. */
async function dieUnderImport() {
  const own = await startRedis()
  const ownRedis = connectWithRetry(own.url)
  ownRedis.on('error', () => {})
  const of = await createAccount(ownRedis, 'Shop')
  const { id: tag } = await createTag(ownRedis, of, 'Many')
  const members = contactsOf(ownRedis, of).members(tag)
  const rows = Array.from({ length: 6_000 }, (_, i) => `49151${20_000_000 + i},Person ${i}\n`)
  const within = mkdtempSync(join(tmpdir(), 'laneway-contacts-'))
  const pipe = join(within, 'pipe.csv')
  execFileSync('mkfifo', [pipe])
  const words = ['contacts', 'import', pipe, '--account', String(of), '--tag', 'Many']
  const running = spawnCli(words, { REDIS_URL: own.url })
  const writing = createWriteStream(pipe).on('error', () => {})
  writing.write(`phone,name\n${rows.slice(0, 3_000).join('')}`)
  await vi.waitUntil(async () => (await members.count()) >= 1_000, { timeout: 600_000, interval: 25 })
  await own.kill9()
  writing.end(rows.slice(3_000).join(''))
  const run = await running
  await own.restart()
  return {
    ...{ run, server: own, redis: ownRedis, of, tag, rows, file: join(within, 'people.csv') },
    async end() {
      ownRedis.disconnect()
      await own.stop()
      rmSync(within, { recursive: true, force: true })
    },
  }
}
