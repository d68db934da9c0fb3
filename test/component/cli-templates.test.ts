// `templates import` and `templates list`. Real: files, Redis.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { findTemplate } from '../../src/accounts/templates.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { lastDay, writtenCode } from '../support/example-templates.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: Redis
let account: string
const folder = mkdtempSync(join(tmpdir(), 'laneway-templates-'))

beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
})

beforeEach(async () => {
  account = String(await createAccount(redis, 'Shop'))
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const template = (name: string, body = 'Your order {{1}} is on its way.') => ({
  name,
  language: 'en_US',
  category: 'UTILITY',
  status: 'APPROVED',
  components: [{ type: 'BODY', text: body }],
})

function importFile(content: string | Buffer, ...more: string[]) {
  const file = join(folder, 'templates.json')
  writeFileSync(file, content)
  return runCli(['templates', 'import', file, '--account', account, ...more], { REDIS_URL: server.url })
}

test('show lists what a message must fill in, and the languages of the template', async () => {
  await importFile(JSON.stringify([template('order_update'), { ...template('order_update', 'Hallo'), language: 'de' }]))
  const env = { REDIS_URL: server.url }
  const show = (...words: string[]) => runCli(['templates', 'show', ...words, '--account', account], env)
  const both = await show('order_update')
  expect(both.stdout).toContain('Your order {{1}} is on its way. (1 in order)')
  expect(both.stdout).toContain('Hallo (nothing to fill in)')
  expect(documentIn((await show('order_update', '--language', 'de', '--json')).stdout)).toMatchObject([
    { name: 'order_update', language: 'de', components: [{ type: 'BODY', text: 'Hallo' }] },
  ])
  expect(await show('order_update', '--language', 'en')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /The template does not exist in en, but in (en_US, de|de, en_US): order_update\. \[not_found\]\n$/,
    ),
  })
})

test('show lists a gallery file, the end of an offer and a code among what a message must fill in', async () => {
  await importFile(JSON.stringify([lastDay, writtenCode]))
  const env = { REDIS_URL: server.url }
  const show = async (name: string) => (await runCli(['templates', 'show', name, '--account', account], env)).stdout
  const offer = await show('last_day')
  expect(offer).toMatch(/^Header +gif: a file of the gallery, a link/m)
  expect(offer).toMatch(/^Offer +needs the time when it ends$/m)
  expect(await show(writtenCode.name)).toMatch(/^Button +index 0: URL, needs the code$/m)
})

const list = async () => {
  const run = await runCli(['templates', 'list', '--account', account, '--json'], { REDIS_URL: server.url })
  return documentIn(run.stdout)
}

test.each([
  ['one definition', template('order_update')],
  ['a list', [template('order_update')]],
  ["the answer of WhatsApp's listing", { data: [{ id: '1', ...template('order_update') }], paging: {} }],
])('%s is imported and listed', async (_, content) => {
  const documents = [{ name: 'order_update', language: 'en_US', category: 'UTILITY', status: 'APPROVED' }]
  const run = await importFile(JSON.stringify(content), '--json')
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(documentIn(run.stdout)).toMatchObject(documents)
  const unlisted = { quality: null, waba_id: null, cannot_be_sent: null }
  expect(await list()).toMatchObject(documents.map((each) => ({ ...each, ...unlisted })))
})

test('importing one page of the list reports that there are more', async () => {
  const paging = { cursors: { after: 'x' }, next: 'https://graph.facebook.com/v25.0/1/message_templates?after=x' }
  const run = await importFile(JSON.stringify({ data: [template('first')], paging }))
  expect(run).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/The list has more pages: fetch .*paging\.next.*\n$/),
  })
  const last = await importFile(JSON.stringify({ data: [template('last')], paging: { cursors: { after: 'x' } } }))
  expect(last.stdout).not.toContain('more pages')
})

test('a template with a part that no message can fill is imported, and listed with the reason', async () => {
  const components = [{ type: 'BUTTONS', buttons: [{ type: 'ORDER_DETAILS', text: 'Pay' }] }]
  expect(await importFile(JSON.stringify({ ...template('pays'), components }))).toMatchObject({ code: 0 })
  const reason = 'It has a button that Laneway cannot fill in: ORDER_DETAILS.'
  expect(await list()).toMatchObject([{ name: 'pays', cannot_be_sent: reason }])
  const shown = await runCli(['templates', 'show', 'pays', '--account', account], { REDIS_URL: server.url })
  expect(shown.stdout).toContain(reason)
})

test('a later definition of a template replaces the earlier one', async () => {
  await importFile(JSON.stringify(template('order_update')))
  await importFile(JSON.stringify(template('order_update', 'Other words.')))
  expect(await list()).toHaveLength(1)
  expect(await findTemplate(redis, Number(account), 'order_update', 'en_US')).toMatchObject({
    components: [{ type: 'BODY', text: 'Other words.' }],
  })
})

test('nothing is imported when one of several is wrong, and the fault is reported with its position', async () => {
  const run = await importFile(JSON.stringify([template('good'), { ...template('bad'), category: 'NEWS' }]))
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toMatch(/^error: \/\S+\.json\[1\]\.category: expected .+, got "NEWS"\. \[invalid_request\]\n$/)
  expect(await list()).toEqual([])
})

test.each([
  ['is no JSON', '{', /^error: \/\S+: expected JSON, got something else \(.+\)\.\n$/],
  [
    'is not UTF-8',
    Buffer.from('{"name":"Jos\u00e9"}', 'latin1'),
    /^error: \/\S+: expected JSON in UTF-8, got another encoding\.\n$/,
  ],
  ['holds something else', '"order_update"', /^error: \/\S+: expected a JSON object, got something else\.\n$/],
  ['holds no template', '{"data":[]}', /^error: \/\S+: at least 1 item, got 0\.\n$/, 2],
])('a file that %s is refused in one sentence', async (_, content, sentence, code = 1) => {
  const run = await importFile(content)
  expect(run).toMatchObject({ code, stdout: '' })
  expect(run.stderr).toMatch(sentence)
})

test('templates and campaigns are read from standard input, which is named in the error when it is not JSON', async () => {
  const env = { REDIS_URL: server.url }
  const importInput = (input: string) => runCli(['templates', 'import', '-', '--account', account], env, input)
  expect(await importInput(JSON.stringify(template('piped')))).toMatchObject({ code: 0, stderr: '' })
  expect(await list()).toMatchObject([{ name: 'piped' }])
  expect(await importInput('')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: standard input: expected JSON, got something else \(.+\)\.\n$/),
  })
  expect(await runCli(['campaigns', 'create', '-', '--account', account], env, '[]')).toMatchObject({
    code: 1,
    stderr: 'error: standard input: expected a JSON object, got something else.\n',
  })
})

test.each([
  [['contacts', 'import', '-', '--tag', 'Spring'], '<file>'],
  [['contacts', 'import', 'people.csv', '--tag', 'Spring', '--report', '-'], '--report'],
  [['opt-outs', 'import', '-'], '<file>'],
  [['opt-outs', 'export', '-'], '<file>'],
] as const)(
  '%j is refused: rows are neither read from standard input nor written to standard output',
  async (words, place) => {
    expect(await runCli([...words, '--account', account], { REDIS_URL: server.url })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(
        `error: ${place}: expected the path of a file, which standard input and output are not, got "-".\n`,
      ),
    })
    expect(existsSync('-')).toBe(false)
  },
)

test('a file that does not exist is reported with its full path', async () => {
  const args = ['templates', 'import', 'nowhere.json', '--account', account]
  expect(await runCli(args, { REDIS_URL: server.url })).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: The file ${join(process.cwd(), 'nowhere.json')} cannot be used: there is no such file or folder.\n`,
  })
})
