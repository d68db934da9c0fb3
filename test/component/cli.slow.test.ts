// The command line as a whole, and accounts, keys and senders through it. Real: Redis, and the compiled program where a
// process matters.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { checkKey } from '../../src/accounts/check-key.ts'
import { findCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { LIMIT_SETTINGS } from '../../src/model/accounts/limits.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { removeHeartbeat, sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { documentIn, runCli, spawnCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { accountRecord, accountsKnown } from '../support/state/accounts.ts'

let server: TestRedis
let redis: Redis
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-cli-'))
const env = () => ({ REDIS_URL: server.url, LANEWAY_DATA_DIR: dataDir })
const cli = (...args: string[]) => runCli(args, env())

/** Runs a verb that must succeed and returns its document. */
async function json(...args: string[]) {
  const run = await runCli([...args, '--json'], env())
  expect(run.stderr).toBe('')
  expect(run.code).toBe(0)
  return documentIn(run.stdout)
}

/** What the command line says of a Redis that does not answer. That takes ten seconds, so it begins first and is read last. */
let unanswered: ReturnType<typeof spawnCli>
beforeAll(async () => {
  unanswered = spawnCli(['accounts', 'list'], { REDIS_URL: 'redis://user:hush@127.0.0.1:1' })
  server = await startRedis()
  redis = connectWithRetry(server.url)
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

describe('the version', () => {
  test('is that of package.json', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await cli('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })
})

describe('what people type first', () => {
  test('`version` is the version, `ls` lists, and `status` shows the health', async () => {
    expect(await cli('version')).toEqual(await cli('--version'))
    expect(await cli('lanes', 'ls')).toEqual(await cli('lanes', 'list'))
    expect(await cli('events', 'endpoints', 'ls')).toEqual(await cli('events', 'endpoints', 'list'))
    expect(await cli('status')).toEqual(await cli('health'))
  })

  test('`health` fails without a live worker, and shows how many are alive', async () => {
    const none = 'error: No worker is alive: messages are accepted and wait. [no_worker]\n'
    expect(await cli('health')).toEqual({ code: 1, stdout: '', stderr: none })
    await sendHeartbeat(redis, 'one')
    const one = 'Redis answers, and 1 worker has reported within the last 10 s.\n'
    expect(await cli('health')).toEqual({ code: 0, stdout: one, stderr: '' })
    expect(await json('health')).toMatchObject({ workers: 1 })
    await removeHeartbeat(redis, 'one')
  })

  test('the verbs of `events endpoints` are in its help, and a misspelt one is refused by name', async () => {
    const names = namesIn((await cli('events', 'endpoints', '--help')).stdout)
    expect(names).toEqual(
      expect.arrayContaining(['list', 'create', 'show', 'enable', 'disable', 'rotate-secret', 'attempts', 'remove']),
    )
    expect((await cli('events', 'endpoints', 'creat')).stderr).toBe(
      "error: unknown command 'creat'\n(Did you mean create?)\n",
    )
    expect((await cli('events', 'endpoint', 'list')).stderr).toContain('(Did you mean endpoints?)')
  })

  test('a new endpoint is shown with what it receives and what it does not', async () => {
    const account = await createAccount(redis, 'Listens')
    const create = ['events', 'endpoints', 'create', '--account', `${account}`, '--url', 'https://shop.example/hook']
    const { code, stdout } = await cli(...create)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /\ntypes +message\.delivered, .+\n[\s\S]+It does not get message\.sent, message\.read; name types/,
    )
    expect((await cli(...create, '--types', 'message.sent')).stdout).toMatch(/\ntypes +message\.sent\n/)
  })
})

describe('help', () => {
  test('exists on every level, with an example', async () => {
    const nouns = namesIn((await cli('--help')).stdout)
    expect(nouns).toEqual([
      'accounts',
      'keys',
      'senders',
      'portfolios',
      'secrets',
      'templates',
      'contacts',
      'messages',
      'lanes',
      'campaigns',
      'events',
      'flows',
      'opt-outs',
      'people',
      'conversations',
      'tags',
      'gallery',
      'limits',
      'webhook-secrets',
      'notices',
      'activity',
      'stats',
      'health',
      'console',
      'metrics',
      'openapi',
      'mcp',
      'completion',
      'top',
    ])
    for (const noun of nouns) {
      const help = await cli(noun, '--help')
      expect(help).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toContain(`Example:\n  npm run cli -- ${noun} `)
      const verbs = namesIn(help.stdout)
      expect(verbs).not.toEqual([])
      for (const verb of verbs) {
        const { stdout } = await cli(noun, verb, '--help')
        expect(stdout).toContain(`Example:\n  npm run cli -- ${noun} ${verb} `)
        const inner = stdout.includes('\nCommands:\n') ? namesIn(stdout) : []
        if (inner.length === 0) expect(stdout).toContain('--json')
        for (const name of inner) {
          const { stdout } = await cli(noun, verb, name, '--help')
          expect(stdout).toContain(`Example:\n  npm run cli -- ${noun} ${verb} ${name} `)
          expect(stdout).toContain('--json')
        }
      }
    }
  })

  test('is printed by a call without any word', async () => {
    expect(await spawnCli([], env())).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('Example:'),
    })
  })

  test('is printed to stderr with exit code 2 when the verb is missing', async () => {
    expect(await cli('keys')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage:') })
  })
})

describe('what is typed wrongly', () => {
  test('ends the process with exit code 2, one sentence on stderr and nothing on stdout', async () => {
    expect(await spawnCli(['kees', 'list'], env())).toEqual({
      code: 2,
      stdout: '',
      stderr: "error: unknown command 'kees'\n(Did you mean keys?)\n",
    })
    expect(await spawnCli(['keys', 'list', '--account', 'one', '--json'], env())).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --account: expected the number of an account, see `accounts list`, got "one".\n',
    })
  })

  test.each([
    ['kees', '(Did you mean keys?)\n', ['kees', 'create', '--help']],
    ['endpoints', '(Did you mean events endpoints?)\n', ['endpoints', 'add', '--help']],
    ['webhook', '(Did you mean events endpoints?)\n', ['webhook']],
    ['fold', '', ['keys', 'fold', '--help']],
    ['creat', '(Did you mean create?)\n', ['events', 'endpoints', 'creat', '-h']],
  ])('is an unknown command even with --help: %s', async (word, suggestion, words) => {
    const stderr = `error: unknown command '${word}'\n${suggestion}`
    expect(await cli(...words)).toEqual({ code: 2, stdout: '', stderr })
  })

  test('is not reported for `health --help`, nor for `help` with a command', async () => {
    expect(await cli('health', '--help')).toMatchObject({ code: 0, stderr: '' })
    expect((await cli('help', 'keys')).stdout).toEqual((await cli('keys', '--help')).stdout)
  })

  test.each([
    ['an unknown verb', ['keys', 'fold'], "unknown command 'fold'\n"],
    [
      'a missing option',
      ['contacts', 'import', 'people.csv', '--account', '1'],
      "required option '--tag <text>' not specified\n",
    ],
    ['a superfluous word', ['keys', 'list', '--account', '1', 'x'], /^error: too many arguments .+\n$/],
    [
      'an option',
      ['keys', 'create', '--account', '1', '--permissions', 'admin', '--expires-in', '1y'],
      /^error: --expires-in: expected a time such as .+, got "1y"\.\n$/,
    ],
    [
      'a list with one wrong word',
      ['keys', 'create', '--account', '1', '--permissions', 'admin,everything'],
      /^error: --permissions\[1\]: expected "messages:send", .+, got "everything"\.\n$/,
    ],
    ['an argument', ['accounts', 'set', '0', 'template_check', 'off'], /^error: <id>: .+\n$/],
    [
      'the value of a setting',
      ['accounts', 'set', '1', 'template_check', 'maybe'],
      /^error: template_check: expected "?on"? or "?off"?, got "maybe"\.\n$/,
    ],
    ['two things at once', ['accounts', 'set', 'x', 'y', 'z'], /^error: <setting>: expected one of .+, got "y"\.\n$/],
  ])('is reported when it is %s', async (_, words, sentence) => {
    const run = await cli(...words)
    expect(run).toMatchObject({ code: 2, stdout: '' })
    if (typeof sentence === 'string') expect(run.stderr).toBe(`error: ${sentence}`)
    else expect(run.stderr).toMatch(sentence)
  })
})

describe('Redis', () => {
  test('is found through demo.json in the data folder when REDIS_URL is not set', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'laneway-cli-demo-'))
    writeFileSync(join(folder, 'demo.json'), JSON.stringify({ base_url: 'x', redis_url: server.url }))
    const run = await spawnCli(['accounts', 'list', '--json'], { LANEWAY_DATA_DIR: folder })
    rmSync(folder, { recursive: true })
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(documentIn(run.stdout)).toEqual(expect.any(Array))
  })

  test('is asked for in one sentence when its address is unknown', async () => {
    const run = await runCli(['accounts', 'list'], { LANEWAY_DATA_DIR: '/nonexistent' })
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toBe(
      'error: No Redis configured: set REDIS_URL, or run `npm start`, which writes its address to /nonexistent/demo.json.\n',
    )
  })

  test('with a broken record is reported with the record and without a stack', async () => {
    const { id } = await json('accounts', 'create', 'Broken')
    await accountRecord(redis, id).change({ template_check: 'maybe' })
    const run = await cli('accounts', 'list')
    await accountRecord(redis, id).change({ template_check: 'on' })
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `error: The account ${id} in Redis is broken: template_check.\n`,
    })
  })
})

describe('accounts', () => {
  test('are created with the default settings and listed', async () => {
    const account = await json('accounts', 'create', '  Corner shop ')
    expect(account).toEqual({
      id: expect.any(Number),
      name: 'Corner shop',
      contacts_shape: 'records',
      template_check: 'on',
      'policy.transactional': 'at_least_once',
      'policy.campaign': 'at_most_once',
      ...Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, null])),
      'opt_out.stop_words': 'stop,unsubscribe',
      'opt_out.start_words': 'start',
      'opt_out.transactional': 'send',
      outside_window: 'warn',
      keep_received_media: 'off',
      unknown_fields: 'refuse',
      ...Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, null])),
    })
    expect(await json('accounts', 'list')).toContainEqual(account)
    expect((await cli('accounts', 'list')).stdout).toMatch(new RegExp(`^${account.id} +Corner shop +records +on `, 'm'))
  })

  test('keep a changed setting', async () => {
    const { id } = await json('accounts', 'create', 'Careful')
    const changed = await json('accounts', 'set', String(id), 'policy.campaign', 'at_least_once')
    expect(changed['policy.campaign']).toBe('at_least_once')
    expect(await json('accounts', 'list')).toContainEqual(changed)
  })

  test('have limits of their own until these are removed, and only whole numbers as limits', async () => {
    const { id } = await json('accounts', 'create', 'Bounded')
    const limited = await json('accounts', 'set', String(id), 'limit.key_rate', '50')
    expect(limited['limit.key_rate']).toBe(50)
    expect((await cli('accounts', 'show', String(id))).stdout).toMatch(/^limit\.key_rate +50$/m)
    const again = await json('accounts', 'set', String(id), 'limit.key_rate', 'default')
    expect(again['limit.key_rate']).toBeNull()
    for (const wrong of ['-1', '1.5', 'many', '']) {
      const refused = await cli('accounts', 'set', String(id), 'limit.key_rate', wrong)
      expect([wrong, refused.code]).not.toEqual([wrong, 0])
    }
  })

  test('are not created by changing a setting of one that does not exist', async () => {
    const run = await cli('accounts', 'set', '999', 'template_check', 'off')
    expect(run).toMatchObject({ code: 1, stderr: 'error: The account does not exist: 999. [not_found]\n' })
    expect(await accountRecord(redis, 999).isThere()).toBe(false)
  })

  test('cannot bring control characters to the terminal', async () => {
    await accountRecord(redis, 777).change({ id: 777, name: '\u001b[31mred' })
    await accountsKnown(redis).add(777)
    const { stdout } = await cli('accounts', 'list')
    await accountsKnown(redis).drop(777)
    await accountRecord(redis, 777).remove()
    expect(stdout).toContain('777  \\u001b[31mred')
    expect(stdout).not.toContain('\u001b')
  })
})

/** What a sender of the partner wire needs besides its number. */
const PARTNER = ['--provider', 'partner-api', '--base-url', 'http://127.0.0.1:9/', '--token', 'hush-hush']

describe('keys', () => {
  test('are shown once and work with their permissions until they expire', async () => {
    const { id: account } = await json('accounts', 'create', 'Keys')
    const before = Date.now()
    const args = ['--account', String(account), '--permissions', 'messages:send, gallery', '--expires-in', '1h']
    const made = await json('keys', 'create', ...args)
    const known = await findCredential(redis, made.key)
    expect(known).toMatchObject({ id: made.id, account, permissions: ['messages:send', 'gallery'], revoked: false })
    expect(known?.expires_at).toBe(Date.parse(made.expires_at))
    expect(Date.parse(made.expires_at) - before).toBeGreaterThanOrEqual(3_600_000)
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000)

    const list = await cli('keys', 'list', '--account', String(account), '--json')
    expect(list.stdout).not.toContain(made.key)
    expect(documentIn(list.stdout)).toMatchObject([{ id: made.id, state: 'active', expires_at: made.expires_at }])
  })

  test('have a name and show when they were last used', async () => {
    const { id: account } = await json('accounts', 'create', 'Named')
    const of = ['--account', String(account)]
    const made = await json('keys', 'create', ...of, '--permissions', 'messages:read', '--name', 'order service')
    expect(await json('keys', 'list', ...of)).toMatchObject([{ name: 'order service', last_used_at: null }])
    expect((await cli('keys', 'list', ...of)).stdout).toMatch(/ order service +active +never .* never +messages:read/)

    await checkKey(redis, made.key, 'messages:read', Date.parse('2026-03-01T12:00:00Z'))
    // Within the minute nothing is written.
    await checkKey(redis, made.key, 'messages:read', Date.parse('2026-03-01T12:00:59Z'))
    expect(await json('keys', 'list', ...of)).toMatchObject([{ last_used_at: '2026-03-01T12:00:00.000Z' }])
    await checkKey(redis, made.key, 'messages:read', Date.parse('2026-03-01T12:01:00Z'))
    expect(await json('keys', 'list', ...of)).toMatchObject([{ last_used_at: '2026-03-01T12:01:00.000Z' }])
  })

  test('do not count as used when they are refused', async () => {
    const { id: account } = await json('accounts', 'create', 'Refused')
    const of = ['--account', String(account)]
    const made = await json('keys', 'create', ...of, '--permissions', 'messages:read')
    await expect(checkKey(redis, made.key, 'admin', Date.now())).rejects.toThrow('lacks the permission')
    expect(await json('keys', 'list', ...of)).toMatchObject([{ last_used_at: null }])
  })

  test('live forever without --expires-in', async () => {
    const { id } = await json('accounts', 'create', 'Ever')
    const made = await json('keys', 'create', '--account', String(id), '--permissions', 'admin')
    expect(made.expires_at).toBeNull()
    expect(await findCredential(redis, made.key)).toMatchObject({ expires_at: 0 })
  })

  test('are revoked by their id', async () => {
    const { id: account } = await json('accounts', 'create', 'Revoked')
    const made = await json('keys', 'create', '--account', String(account), '--permissions', 'admin')
    expect((await cli('keys', 'revoke', made.id, '--account', String(account))).stdout).toMatch(
      new RegExp(`^Revoked\\.\nid +${made.id}\naccount +${account}\n[^]*state +revoked\n`),
    )
    expect(await findCredential(redis, made.key)).toMatchObject({ revoked: true })
    expect(await json('keys', 'list', '--account', String(account))).toMatchObject([{ state: 'revoked' }])
  })

  test('are revoked without naming their account', async () => {
    const { id: account } = await json('accounts', 'create', 'Unnamed')
    const made = await json('keys', 'create', '--account', String(account), '--permissions', 'admin')
    expect(await json('keys', 'revoke', made.id)).toMatchObject({ id: made.id, account, state: 'revoked' })
    expect(await findCredential(redis, made.key)).toMatchObject({ revoked: true })
    expect(await cli('keys', 'revoke', 'key_000000000000')).toMatchObject({
      code: 1,
      stderr: 'error: The key does not exist: key_000000000000. [not_found]\n',
    })
  })

  test('of another account are not revoked, and a pasted key is not repeated', async () => {
    const { id: mine } = await json('accounts', 'create', 'Mine')
    const { id: theirs } = await json('accounts', 'create', 'Theirs')
    const made = await json('keys', 'create', '--account', String(theirs), '--permissions', 'admin')
    expect(await cli('keys', 'revoke', made.id, '--account', String(mine))).toMatchObject({ code: 1 })
    expect(await findCredential(redis, made.key)).toMatchObject({ revoked: false })
    const pasted = await cli('keys', 'revoke', made.key, '--account', String(theirs))
    expect(pasted.code).toBe(2)
    expect(pasted.stderr).not.toContain(made.key)
  })

  test('are limited to senders given by number, name or id', async () => {
    const { id: account } = await json('accounts', 'create', 'Bound')
    const of = ['--account', String(account)]
    const add = (number: string, name: string) =>
      json('senders', 'add', ...of, '--number', number, '--name', name, ...PARTNER)
    const [one, two] = [await add('14155550140', 'front'), await add('14155550141', 'back')]
    const make = (senders: string) =>
      cli('keys', 'create', ...of, '--permissions', 'admin', '--senders', senders, '--json')
    for (const senders of [
      '14155550140, +1 (415) 555-0141',
      'front,back',
      `${one.id},${two.id}`,
      `front,14155550141`,
    ]) {
      expect(documentIn((await make(senders)).stdout), senders).toMatchObject({ senders: [one.id, two.id] })
    }
    expect(await make('front,14155550149')).toMatchObject({
      code: 1,
      stderr:
        'error: --senders[1]: "14155550149" is not a sender of this account; name it by its number, its name or its id. [invalid_request]\n',
    })
    expect(await make('front,,back')).toMatchObject({ code: 2, stderr: expect.stringContaining('--senders: expected') })
  })

  test('are not made for an account that does not exist', async () => {
    expect(await cli('keys', 'create', '--account', '999', '--permissions', 'admin')).toMatchObject({
      code: 1,
      stderr: 'error: The account does not exist: 999. [not_found]\n',
    })
  })
})

describe('senders', () => {
  const partner = (account: number, number: string, ...more: string[]) => [
    ...['senders', 'add', '--account', String(account), '--number', number, ...PARTNER, ...more],
  ]

  test('are added with a sealed token and the pace of their lane, and listed without the token', async () => {
    const { id: account } = await json('accounts', 'create', 'Senders')
    const sender = await json(...partner(account, '+1 (415) 555-0123', '--name', 'desk', '--rate', '20'))
    expect(sender).toEqual({
      id: expect.any(Number),
      account,
      number: '14155550123',
      name: 'desk',
      provider: 'partner-api',
      base_url: 'http://127.0.0.1:9',
      phone_number_id: null,
      rate: 20,
      portfolio: null,
      waba_id: null,
      ...{
        follow_provider: true,
        quality: null,
        restricted: null,
        verified_name: null,
        marketing_route: 'messages',
        strict_pace: false,
      },
      honours_idempotency: false,
      default: true,
    })
    const stored = await findSender(redis, sender.id)
    const key = secretKeysOf({ secretKeys: [], dataDir })
    expect(createSeal(key).decrypt(stored?.token ?? '', { sender: sender.id, baseUrl: 'http://127.0.0.1:9' })).toBe(
      'hush-hush',
    )
    const list = await cli('senders', 'list', '--account', String(account), '--json')
    expect(documentIn(list.stdout)).toEqual([sender])
    expect(list.stdout).not.toContain('hush')
  })

  test('read their token from standard input', async () => {
    const { id: account } = await json('accounts', 'create', 'Standard input')
    const args = partner(account, '14155550124').map((word) => (word === 'hush-hush' ? '-' : word))
    const run = await spawnCli([...args, '--json'], env(), 'from-a-pipe\n')
    expect(run).toMatchObject({ code: 0, stderr: '' })
    const { id } = documentIn(run.stdout)
    const stored = await findSender(redis, id)
    const place = { sender: id, baseUrl: 'http://127.0.0.1:9' }
    expect(createSeal(secretKeysOf({ secretKeys: [], dataDir })).decrypt(stored?.token ?? '', place)).toBe(
      'from-a-pipe',
    )

    const empty = await runCli(partner(account, '14155550125').with(-1, '-'), env(), '')
    expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('--token') })
  })

  test('on cloud-api need the id of the number, which no other may have', async () => {
    const { id: account } = await json('accounts', 'create', 'Cloud')
    const cloud = (number: string, ...more: string[]) => [
      ...['senders', 'add', '--account', String(account), '--number', number, '--provider', 'cloud-api'],
      ...['--base-url', 'https://graph.example', '--token', 'hush', ...more],
    ]
    expect(await cli(...cloud('14155550126'))).toMatchObject({
      code: 2,
      stderr: 'error: --phone-number-id: required with the provider cloud-api.\n',
    })
    const first = await json(...cloud('14155550126', '--phone-number-id', '106555'))
    expect(first).toMatchObject({ phone_number_id: '106555', default: true })
    expect(await cli(...cloud('14155550127', '--phone-number-id', '106555'))).toMatchObject({
      code: 1,
      stderr: `error: --phone-number-id: belongs to sender ${first.id} of account ${account}. [sender_taken]\n`,
    })
  })

  test('cannot take the number or name of another sender', async () => {
    const { id: account } = await json('accounts', 'create', 'Twice')
    const first = await json(...partner(account, '14155550128', '--name', 'desk'))
    expect(await cli(...partner(account, '+1 415 555 0128'))).toMatchObject({ code: 1 })
    expect((await cli(...partner(account, '14155550129', '--name', 'desk'))).stderr).toBe(
      `error: --name: belongs to sender ${first.id} of account ${account}. [sender_taken]\n`,
    )
    expect(await json('senders', 'list', '--account', String(account))).toEqual([first])
  })

  test('become the default when asked to', async () => {
    const { id: account } = await json('accounts', 'create', 'Default')
    await json(...partner(account, '14155550130'))
    await json(...partner(account, '14155550131', '--default', '--honours-idempotency'))
    expect(await json('senders', 'list', '--account', String(account))).toMatchObject([
      { number: '14155550130', default: false, honours_idempotency: false },
      { number: '14155550131', default: true, honours_idempotency: true },
    ])
  })

  test('are refused when the secret key is not that of the existing senders', async () => {
    const { id: account } = await json('accounts', 'create', 'Other key')
    await json(...partner(account, '14155550132'))
    const run = await runCli(partner(account, '14155550133'), { ...env(), LANEWAY_SECRET_KEY: 'x'.repeat(32) })
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('that LANEWAY_SECRET_KEYS does not have') })
    expect(await json('senders', 'list', '--account', String(account))).toHaveLength(1)
  })

  test("are added with a rate above WhatsApp's limit for new numbers only when that is confirmed", async () => {
    const { id: account } = await json('accounts', 'create', 'Fast')
    const words = partner(account, '14155550188', '--rate', '1000')
    expect(await cli(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining('80 messages a second') })
    expect(await json('senders', 'list', '--account', String(account))).toEqual([])
    expect(await json(...words, '--yes')).toMatchObject({ rate: 1_000 })
  })

  test.each([
    ['--number', '5550123'],
    ['--base-url', 'ftp://provider.example'],
    ['--base-url', 'https://provider.example/?key=1'],
    ['--base-url', 'https://user:hush@provider.example'],
    ['--rate', '0'],
    ['--rate', '-5'],
    ['--rate', 'fast'],
    ['--name', '4155550123'],
    ['--provider', 'pigeon'],
  ])('are refused with %s %s', async (option, value) => {
    const words = partner(1, '14155550134')
    const at = words.indexOf(option)
    const run = await cli(...(at === -1 ? [...words, option, value] : words.with(at + 1, value)))
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(run.stderr).toMatch(new RegExp(`^error: ${option}: (expected|at least) .+\\.\n$`))
  })
})

/** The words under "Commands:", but for commander's own `help`. */
function namesIn(help: string): string[] {
  const [, commands = ''] = /Commands:\n([\s\S]*?)\n\n/.exec(help) ?? []
  return [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name]) => (name && name !== 'help' ? [name] : []))
}

test('an account that does not exist is an error wherever it filters a list', async () => {
  for (const list of ['lanes', 'senders', 'keys', 'campaigns']) {
    expect(await cli(list, 'list', '--account', '987654')).toMatchObject({
      code: 1,
      stderr: 'error: The account does not exist: 987654. [not_found]\n',
    })
  }
})

test('a Redis that does not answer is named without its password', async () => {
  const run = await unanswered
  expect(run).toMatchObject({ code: 3, stdout: '' })
  expect(run.stderr).toMatch(/^error: Redis at 127\.0\.0\.1:1 cannot be used: .*[^.]\.\n$/)
  expect(run.stderr).not.toContain('hush')
})
