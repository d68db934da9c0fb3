// Pins the client for Python: every operation of the description is a call that reaches its address with what was given, a refusal is an
// error with its code, lost answers are asked for again under one key, and deliveries of events are verified. Real: Debian's Python,
// Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { spawn, spawnSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { CALLED_BY_OTHERS } from '../../src/producer/api/table.ts'
import { operations } from '../../src/producer/openapi/document.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

let service: Service
let tenant: Tenant
beforeAll(async () => {
  const made = spawnSync(process.execPath, ['scripts/python-client.mjs'], { encoding: 'utf8' })
  expect(made.status, made.stderr).toBe(0)
  service = await startService()
  tenant = await service.addTenant()
})
afterAll(() => service?.close())

const endedSchema = z.object({
  known: z.array(z.string()),
  ended: z.array(
    z.object({
      id: z.string(),
      status: z.number().optional(),
      code: z.string().optional(),
      request_id: z.string().optional(),
      bytes: z.number().optional(),
      answer: z.unknown().optional(),
    }),
  ),
})

/** Runs Python with this on its standard input, and reads the JSON that it prints. */
async function python(args: readonly string[], input: unknown): Promise<unknown> {
  const running = spawn('python3', args, { stdio: ['pipe', 'pipe', 'pipe'], env: { PYTHONDONTWRITEBYTECODE: '1' } })
  const ended = new Promise<number | null>((resolve) => running.once('close', resolve))
  running.stdin.end(JSON.stringify(input))
  const [printed, complaints] = await Promise.all([text(running.stdout), text(running.stderr)])
  expect(await ended, complaints).toBe(0)
  return JSON.parse(printed)
}

const script = (...lines: string[]): string[] => [
  '-c',
  ['import json, sys', "sys.path.insert(0, 'packages/client-python')", 'from laneway import *', ...lines].join('\n'),
]

/** What only a request that does not fit the address is answered. */
const UNFIT = ['no_such_route', 'method_not_allowed', 'unauthorized', 'invalid_json', 'unsupported_media_type']

test('every operation is a call: it reaches its address, with the values of the first example', async () => {
  const { secret } = await createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now())
  const callable = operations().filter(
    ({ id, spec }) =>
      !CALLED_BY_OTHERS.some((family) => new RegExp(`^${family}[A-Z]`).test(id)) && spec.path !== '/console/stream',
  )
  const calls = callable.map(({ id, spec: { examples } }) => {
    const { params = {}, query = {}, headers = {}, body = {}, text: sent = 'person\n' } = examples[0] ?? {}
    return { id, params, query, headers, body, text: sent }
  })
  // What ends the account, or takes keys away, comes last.
  const inOrder = [...calls].sort(
    (one, other) =>
      Number(/Remove|Revoke|Rotate|Erase/.test(one.id)) - Number(/Remove|Revoke|Rotate|Erase/.test(other.id)),
  )
  const asked = { url: service.url, key: secret, account: tenant.account, calls: inOrder }
  const { known, ended } = endedSchema.parse(await python(['test/support/every_operation.py'], asked))
  expect([...known].sort()).toEqual(callable.map(({ id }) => id).sort())
  expect(ended.map(({ id }) => id)).toEqual(inOrder.map(({ id }) => id))
  expect(ended.filter(({ code }) => code !== undefined && UNFIT.includes(code))).toEqual([])
  expect(ended.filter(({ code, request_id }) => code !== undefined && request_id === '')).toEqual([])
  const answered = ended.filter(({ code }) => code === undefined).map(({ id }) => id)
  expect(answered).toEqual(
    expect.arrayContaining(['messagesList', 'keysList', 'campaignsList', 'contactBookTags', 'healthAlive']),
  )
})

test('a message is sent and found, page by page', async () => {
  const lines = [
    'asked = json.load(sys.stdin)',
    "laneway = Laneway(asked['url'], asked['key'])",
    "body = {'to': '+491700004001', 'type': 'text', 'text': {'body': 'Hello'}}",
    "ids = [laneway.sending.message(body)['data']['id'] for _ in range(3)]",
    "found = [each['id'] for each in laneway.messages.list_all(to='+491700004001', limit=1)]",
    'print(json.dumps([ids, found]))',
  ]
  const [ids, found] = z
    .tuple([z.array(z.string()), z.array(z.string())])
    .parse(await python(script(...lines), { url: service.url, key: tenant.apiKey }))
  expect(found).toEqual([...ids].reverse())
})

test('a refusal has its status, code and details', async () => {
  const lines = [
    'asked = json.load(sys.stdin)',
    'try:',
    "    Laneway(asked['url'], asked['key']).sending.message({'to': '12', 'type': 'text', 'text': {'body': 'Hello'}})",
    'except LanewayRefused as refused:',
    '    print(json.dumps([refused.status, refused.code, [each["path"] for each in refused.details]]))',
  ]
  expect(await python(script(...lines), { url: service.url, key: tenant.apiKey })).toEqual([
    400,
    'invalid_request',
    ['to'],
  ])
})

test('a request whose answer is lost is made again with the same key, and one that may not be repeated only once', async () => {
  const keys: (string | undefined)[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']?.toString())
    if (keys.length % 2 === 1) request.socket.destroy()
    else response.writeHead(202, { 'content-type': 'application/json' }).end('{"status":true,"data":{"id":"msg_1"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const lines = [
    'asked = json.load(sys.stdin)',
    "laneway = Laneway(asked['url'], 'lw_x')",
    "print(json.dumps(laneway.sending.message({'to': '+491700004002'})['data']['id']))",
  ]
  expect(await python(script(...lines), { url })).toBe('msg_1')
  expect(keys).toEqual([keys[0], keys[0]])
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
  const once = [
    'asked = json.load(sys.stdin)',
    'try:',
    "    Laneway(asked['url'], 'lw_x').messages.cancel('msg_1')",
    'except LanewayUnavailable as away:',
    '    print(json.dumps(away.code))',
  ]
  expect(await python(script(...once), { url })).toBe('unavailable')
  expect(keys).toHaveLength(3)
  server.close()
})

test('a delivery is verified, and one that was changed, is old or signed by others is refused', async () => {
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const body = JSON.stringify({
    type: 'batch',
    data: [{ type: 'message.read', timestamp: 'now', data: { event_id: 'evt_1' } }],
  })
  const seconds = String(Math.floor(Date.now() / 1_000))
  const signed = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`dlv_1.${seconds}.${body}`)
    .digest('base64')
  const headers = { 'Webhook-Id': 'dlv_1', 'Webhook-Timestamp': seconds, 'Webhook-Signature': `v1,${signed}` }
  const lines = [
    'asked = json.load(sys.stdin)',
    'def outcome(secret, body, headers, now=None):',
    '    try:',
    "        return [each['data']['event_id'] for each in verify_event(headers, body.encode(), secret, now)]",
    '    except EventsRefused:',
    "        return 'refused'",
    "h, b, s = asked['headers'], asked['body'], asked['secret']",
    'print(json.dumps([outcome(s, b, h), outcome([asked["other"], s], b, h), outcome(asked["other"], b, h),',
    '  outcome(s, b + " ", h), outcome(s, b, h, float(h["Webhook-Timestamp"]) + 301), outcome(s, b, {})]))',
  ]
  const other = `whsec_${randomBytes(24).toString('base64')}`
  expect(await python(script(...lines), { headers, body, secret, other })).toEqual([
    ['evt_1'],
    ['evt_1'],
    ...['refused', 'refused', 'refused', 'refused'],
  ])
})
