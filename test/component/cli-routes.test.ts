// Pins: verbs that are routes. Asked of Redis or of a service over HTTP they give the same answer, the same refusal and the same exit code.
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { type CliRun, documentIn, runCli } from '../support/cli.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { freePort } from '../testbed/free-port.ts'

let service: Service
let tenant: Tenant
let other: Tenant
let account: string
let message: string
/** The environment of somebody who has a key of an operator, and no Redis. */
let remote: Record<string, string>
const folder = mkdtempSync(join(tmpdir(), 'laneway-cli-'))

beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  other = await service.addTenant()
  account = String(tenant.account)
  const { secret } = await createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now())
  remote = { LANEWAY_URL: service.url, LANEWAY_KEY: secret }
  message = await sendTo(service, tenant, '+491700007001')
  await reaches(service, tenant, message, 'read')
})
afterAll(() => service?.close())

const here = (...words: string[]): Promise<CliRun> => runCli(words, service.settings)
const there = (...words: string[]): Promise<CliRun> => runCli(words, remote)
const inAccount = (...words: string[]): string[] => [...words, '--account', account]

describe('the same here and over HTTP:', () => {
  test.each([
    [() => inAccount('limits', 'list')],
    [() => inAccount('limits', 'list', '--json')],
    [() => inAccount('conversations', 'show', '+491700007001', '--json')],
    [() => inAccount('conversations', 'messages', '+491700007001')],
    [() => inAccount('conversations', 'messages', '+491700007001', '--limit', '1', '--json')],
    [() => inAccount('tags', 'list')],
    [() => inAccount('webhook-secrets', 'list', '--json')],
    [() => inAccount('templates', 'syncs')],
    [() => inAccount('gallery', 'folders', 'list', '--json')],
    [() => inAccount('gallery', 'files', 'list', '--trash')],
    [() => inAccount('messages', 'delivery', '--message-id', message)],
    [() => inAccount('messages', 'info', '--message-id', message, '--json')],
    [() => ['senders', 'show', String(tenant.cloudLane), '--json']],
    // Refused: not there, of somebody else, wrong, without an account.
    [() => inAccount('portfolios', 'show', '99')],
    [() => ['conversations', 'show', '+491700007001', '--account', '99999']],
    [() => ['messages', 'info', '--message-id', message, '--account', String(other.account)]],
    [() => inAccount('conversations', 'show', '12')],
    [() => inAccount('gallery', 'folders', 'create', '--name', ' ')],
    [() => inAccount('gallery', 'files', 'move', '--file-ids', '1,2', '--folder-id', '99')],
    [() => ['limits', 'list']],
    [() => inAccount('messages', 'send-many', '--body', join(folder, 'none.json'))],
    [() => inAccount('tags', 'contacts', '--tags', '999')],
    [() => inAccount('events', 'pull', '--limit', '5')],
    [() => ['lanes', 'show', String(tenant.partnerLane), '--account', account]],
    [() => inAccount('conversations', 'show', '..')],
    [() => inAccount('console', 'history', '--span', 'hour', '--json')],
    [() => inAccount('contacts', 'create', '--phone', '12')],
  ])('%#', async (words) => {
    const [one, two] = [await here(...words()), await there(...words())]
    expect(two).toEqual(one)
    expect(one.stdout + one.stderr).not.toBe('')
  })
})

test('what is typed wrongly ends with 2, and what is refused with 1 and the code, by the option that was typed', async () => {
  const wrong = await here(...inAccount('gallery', 'folders', 'create', '--name', ' '))
  expect(wrong).toMatchObject({ code: 2, stderr: 'error: --name: must not be empty.\n' })
  const unknown = await here(...inAccount('conversations', 'show', '12'))
  expect(unknown.code).toBe(2)
  expect(unknown.stderr).toContain('<person>: ')
  const nobody = await here('limits', 'list')
  expect(nobody).toMatchObject({ code: 1, stderr: 'error: --account: required. [account_required]\n' })
})

test('something is made here and there, and listed', async () => {
  const made = await here(...inAccount('tags', 'create', '--name', 'Spring', '--json'))
  expect(made.code, made.stderr).toBe(0)
  const again = await there(...inAccount('tags', 'create', '--name', 'Summer', '--json'))
  expect(again.code, again.stderr).toBe(0)
  const listed = await here(...inAccount('tags', 'list'))
  expect(listed.stdout).toMatch(/Spring[\s\S]*Summer/)
  const endpoint = ['events', 'endpoints', 'change', 'ep_000000000000000000', '--enabled', 'false']
  expect((await here(...inAccount(...endpoint))).stderr).toContain('[not_found]')
})

test('--json is the body of the answer as HTTP gives it', async () => {
  const { stdout } = await here(...inAccount('limits', 'list', '--json'))
  const admin = await service.operator()
  const answered = await admin.get('/admin/limits', { 'x-laneway-account': account })
  expect(JSON.parse(stdout)).toEqual(answered.json)
})

test('a key of an account names none, and sees its own account only', async () => {
  const env = { LANEWAY_URL: service.url, LANEWAY_KEY: await tenant.key('admin') }
  expect((await runCli(['limits', 'list'], env)).code).toBe(0)
  const foreign = await runCli(['limits', 'list', '--account', String(other.account)], env)
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining('[not_found]') })
  const may = await runCli(['limits', 'list'], { ...env, LANEWAY_KEY: await tenant.key('messages:read') })
  expect(may).toMatchObject({ code: 1, stderr: expect.stringContaining('[forbidden]') })
  const none = await runCli(['limits', 'list'], { ...env, LANEWAY_KEY: 'lw_nobody' })
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('[unauthorized]') })
})

test('a key is read from a file, and without one nothing is asked', async () => {
  const file = join(folder, 'key')
  writeFileSync(file, `${remote.LANEWAY_KEY}\n`)
  const asked = ['limits', 'list', '--account', account, '--url', service.url]
  expect(await runCli([...asked, '--key-file', file], {})).toMatchObject({ code: 0, stderr: '' })
  expect(await runCli(asked, {})).toMatchObject({ code: 2, stderr: expect.stringContaining('LANEWAY_KEY') })
})

test('the activity has who did it: a person at the command line, or a key', async () => {
  const create = (phone: string) => inAccount('contacts', 'create', '--phone', phone, '--json')
  const [one, two] = [await here(...create('+491700007101')), await there(...create('+491700007102'))]
  expect([one.code, two.code], one.stderr + two.stderr).toEqual([0, 0])
  const { stdout } = await here(...inAccount('activity', 'list', '--json'))
  const acts = z
    .array(z.object({ action: z.string(), actor: z.record(z.string(), z.unknown()) }))
    .parse(documentIn(stdout))
    .filter(({ action }) => action === 'contact.create')
  expect(acts.map(({ actor }) => Object.keys(actor)[0])).toEqual(['key_id', 'cli'])
})

test('what the headers warn of is told beside the answer', async () => {
  const file = join(folder, 'service.json')
  const body = { to: '+491700007103', type: 'text', text: { body: 'Hello' }, recipient_type: 'individual' }
  writeFileSync(file, JSON.stringify({ ...body, messaging_product: 'chatapp', sender: tenant.cloudNumber }))
  for (const run of [here, there]) {
    const { code, stderr } = await run(...inAccount('messages', 'send-service', '--body', file))
    expect([code, stderr]).toEqual([0, expect.stringContaining('outside_window')])
  }
})

test('a list of which some were refused ends with 1, after the results', async () => {
  const file = join(folder, 'many.json')
  const message = { type: 'text', text: { body: 'Hello' }, recipient_type: 'individual', messaging_product: 'chatapp' }
  writeFileSync(
    file,
    JSON.stringify({
      messages: [
        { ...message, to: '+491700007104' },
        { ...message, to: '12' },
      ],
    }),
  )
  for (const run of [here, there]) {
    const { code, stdout, stderr } = await run(...inAccount('messages', 'send-many', '--body', file, '--json'))
    expect([code, stderr]).toEqual([1, 'error: Refused of the list: 1.\n'])
    expect(stdout).toContain('invalid_request')
  }
})

test('a key that no header can hold is refused and not repeated, and one for another service is not sent', async () => {
  const file = join(folder, 'two-lines')
  writeFileSync(file, `${remote.LANEWAY_KEY}\nof production\n`)
  const broken = await runCli(['limits', 'list', '--url', service.url, '--key-file', file], {})
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('--key-file: expected one key') })
  expect(broken.stderr).not.toContain(String(remote.LANEWAY_KEY))
  const elsewhere = await there('limits', 'list', '--url', 'https://other.example')
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--key-file') })
  const forgotten = await here('limits', 'list', '--key-file', file)
  expect(forgotten).toMatchObject({ code: 2, stderr: expect.stringContaining('needs an address') })
  const secret = await here('limits', 'list', '--url', 'https://ada:hunter2@laneway.example')
  expect(secret).toMatchObject({ code: 2, stderr: expect.not.stringContaining('hunter2') })
})

test('a site that answers 200 with a page is no Laneway, and an answer that is cut off is nobody', async () => {
  const site = createServer((request, response) => {
    if (request.url?.startsWith('/admin/limits'))
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hi</p>')
    else {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"status":')
      setImmediate(() => response.destroy())
    }
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const asked = (...words: string[]) => runCli(words, { LANEWAY_URL: url, LANEWAY_KEY: 'lw_x' })
  expect(await asked('limits', 'list')).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('no Laneway'),
  })
  const cut = await asked('webhook-secrets', 'list')
  expect(cut).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('cannot be reached') })
  const file = await asked('openapi', 'show', '--output', join(folder, 'cut.json'))
  expect(file).toMatchObject({ code: 3, stderr: expect.stringContaining('cannot be reached') })
  site.close()
})

test('what a person has written cannot do anything to the terminal', async () => {
  const hostile = 'a\u009b31mb\u202ec'
  const { status, text } = await tenant.api.post('/messages', {
    ...{ to: '+491700007105', type: 'text', text: { body: hostile }, sender: tenant.cloudNumber },
  })
  expect(status, text).toBe(202)
  for (const words of [
    ['conversations', 'messages', '+491700007105'],
    ['conversations', 'messages', '+491700007105', '--json'],
  ]) {
    const { stdout } = await there(...inAccount(...words))
    expect(stdout).toContain('\\u009b')
    expect(stdout).not.toMatch(/[\u009b\u202e]/)
  }
})

test('what takes room is refused here too while the reserve of Redis is touched', async () => {
  const env = { ...service.settings, LANEWAY_REDIS_RESERVE_PERCENT: '90' }
  const used = Number(/used_memory:(\d+)/.exec(await service.redis.info('memory'))?.[1])
  await service.redis.config('SET', 'maxmemory', String(used * 3))
  try {
    const file = join(folder, 'reserve.json')
    writeFileSync(file, JSON.stringify({ messages: [] }))
    const many = await runCli(inAccount('messages', 'send-many', '--body', file), env)
    expect(many).toMatchObject({ code: 1, stderr: expect.stringContaining('[memory_reserve]') })
    expect((await runCli(inAccount('limits', 'list'), env)).code).toBe(0)
  } finally {
    await service.redis.config('SET', 'maxmemory', '0')
  }
})

test('a look at what needs no secret makes no file with a key', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-empty-'))
  const env = { REDIS_URL: String(service.settings.REDIS_URL), LANEWAY_DATA_DIR: dataDir }
  const { code, stderr } = await runCli(['senders', 'show', String(tenant.cloudLane), '--account', account], env)
  expect([code, stderr]).toEqual([0, ''])
  expect(existsSync(join(dataDir, 'secret.key'))).toBe(false)
})

test('nobody at the address ends with 3, and what is no Laneway as well', async () => {
  const nobody = { ...remote, LANEWAY_URL: `http://127.0.0.1:${await freePort()}` }
  expect(await runCli(['limits', 'list'], nobody)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('cannot be reached'),
  })
  const simulator = await runCli(['limits', 'list'], { ...remote, LANEWAY_URL: service.simulator.url })
  expect(simulator).toMatchObject({ code: 3, stderr: expect.stringContaining('it is no Laneway') })
})

test('a verb that needs Redis itself is not run beside LANEWAY_URL', async () => {
  const { code, stderr } = await runCli(['stats'], { ...remote, ...service.settings })
  expect([code, stderr]).toEqual([2, expect.stringContaining('unset LANEWAY_URL')])
})

test('bytes are written to a file, the same here and there', async () => {
  const [one, two] = [join(folder, 'one.json'), join(folder, 'two.json')]
  expect((await here('openapi', 'show', '--output', one)).code).toBe(0)
  expect((await there('openapi', 'show', '--output', two)).code).toBe(0)
  const text = readFileSync(one, 'utf8')
  expect(readFileSync(two, 'utf8')).toBe(text)
  expect(z.object({ openapi: z.string() }).parse(JSON.parse(text)).openapi).toMatch(/^3\./)
})

test('something is removed only after a yes', async () => {
  const words = inAccount('gallery', 'files', 'trash', '5')
  for (const run of [await here(...words), await there(...words)]) {
    expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  }
  expect((await there(...words, '--yes')).stderr).toContain('[not_found]')
})
