// Pins: accounts, keys, senders, templates and contacts are managed over HTTP as on the command line; nobody gives away
// more than they have, locks everybody out, or reaches what is another account's. Real: Redis, HTTP, producer, CLI.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, expireCredential, revokeCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { errorOf } from '../support/api-error.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { plainHello } from '../support/example-templates.ts'
import { acknowledgedId } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { stored } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let one: Tenant
let two: Tenant
let operator: string
let admin: string
beforeAll(async () => {
  service = await startService({ worker: false, templates: [plainHello] })
  one = await service.addTenant()
  two = await service.addTenant()
  operator = (await createCredential(service.redis, 0, [OPERATOR], Date.now())).secret
  admin = await one.key('admin', 'messages:send', 'messages:read', 'contacts:read', 'contacts:write')
})
afterAll(() => service?.close())

const ask = (method: string, path: string, key: string, body?: object, headers: Record<string, string> = {}) =>
  service.api.as(key).request(method, path, body, headers)
const as = (account: number) => ({ 'x-laneway-account': String(account) })
const made = z.object({ data: z.looseObject({ id: z.union([z.string(), z.number()]), key: z.string().nullish() }) })
const cli = (...words: string[]) => runCli(words, service.settings)

describe('accounts', () => {
  test('are created once per Idempotency-Key, listed, shown and changed by an operator, and by nobody else', async () => {
    const once = { 'idempotency-key': 'shop' }
    const first = await ask('POST', '/admin/accounts', operator, { name: 'Corner shop' }, once)
    const again = await ask('POST', '/admin/accounts', operator, { name: 'Corner shop' }, once)
    const { id } = made.parse(first.json).data
    expect([first.status, again.status, made.parse(again.json).data.id]).toEqual([201, 201, id])
    const changes = { contacts_shape: 'contacts', 'policy.campaign': 'at_least_once' }
    expect((await ask('PATCH', `/admin/accounts/${id}`, operator, changes)).json).toMatchObject({ data: changes })
    expect((await ask('GET', `/admin/accounts/${id}`, operator)).json).toMatchObject({ data: { id, ...changes } })
    expect((await ask('GET', '/admin/accounts?limit=1', operator)).json).toMatchObject({ data: [{}], next: '1' })
    expect((await ask('GET', '/admin/accounts', admin)).status).toBe(403)
    for (const wrong of [{}, { template_check: 'maybe' }, { nothing: 1 }, { name: 'x', id: 5 }]) {
      expect((await ask('PATCH', `/admin/accounts/${id}`, operator, wrong)).status).toBe(400)
    }
    expect((await ask('GET', '/admin/accounts/999999', operator)).status).toBe(404)
  })
})

describe('keys', () => {
  test('are made by a manager of the account, with everything a key may have, and shown once', async () => {
    const wanted = { name: 'order service', permissions: ['messages:send'] }
    const answer = await ask('POST', '/admin/keys', admin, wanted)
    expect(answer.status).toBe(201)
    const { key, id } = made.parse(answer.json).data
    expect((await ask('GET', '/messages', String(key))).status).toBe(403)
    const body = { api_key: key, messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001' }
    const audio = { ...body, type: 'audio', audio: { link: 'https://x.example/a.mp3' } }
    expect((await service.post('/sendservicemessages/sendmessages', audio)).status).toBe(200)
    const listed = await ask('GET', '/admin/keys', admin)
    expect(listed.text).toContain(String(id))
    expect(listed.text).not.toContain(String(key))
    expect(JSON.stringify(await stored(service.redis))).not.toContain(String(key))
    expect((await ask('POST', '/admin/keys', admin, { permissions: ['gallery', 'events'] })).status).toBe(201)
    expect((await ask('POST', '/admin/keys', admin, { permissions: ['operator'] })).status).toBe(400)
    // A key that could give another one this right has it too.
    expect((await ask('GET', '/event-endpoints', admin)).status).toBe(200)
  })

  test('that a bounded key makes are bounded as well', async () => {
    const expiresAt = Date.now() + 3_600_000
    const bounds = { addresses: ['127.0.0.0/8'] }
    const bounded = await createCredential(service.redis, one.account, ['admin'], Date.now(), expiresAt, '', bounds)
    const give = (more: object) => ask('POST', '/admin/keys', bounded.secret, { permissions: ['admin'], ...more })
    const plain = await give({})
    expect(plain.json).toMatchObject({ data: { ...bounds, expires_at: new Date(expiresAt).toISOString() } })
    expect((await give({ addresses: ['127.0.0.1'] })).status).toBe(201)
    for (const more of [{ addresses: ['0.0.0.0/0'] }, { expires_at: new Date(expiresAt + 60_000).toISOString() }]) {
      expect((await give(more)).status, JSON.stringify(more)).toBe(403)
    }
    expect(
      (await ask('POST', '/admin/keys', admin, { permissions: ['admin'], senders: [two.partnerLane] })).status,
    ).toBe(400)
  })

  test('are refused from an address outside their allowed ones', async () => {
    const far = await createCredential(service.redis, one.account, ['admin'], Date.now(), 0, '', {
      addresses: ['192.0.2.0/24'],
    })
    const answer = await ask('GET', '/admin/lanes', far.secret)
    expect([answer.status, errorOf(answer).message]).toEqual([403, 'The key may not be used from this address.'])
    const spoofed = await ask('GET', '/admin/lanes', far.secret, undefined, { 'x-forwarded-for': '192.0.2.1' })
    expect(spoofed.status).toBe(403)
  })

  test('name their senders by number in any spelling, by name or by id, and are refused with the names not found', async () => {
    const give = (senders: unknown[]) => ask('POST', '/admin/keys', admin, { permissions: ['messages:send'], senders })
    const { partnerNumber, partnerLane, cloudNumber, cloudLane } = one
    const both = [partnerLane, cloudLane]
    for (const senders of [
      [partnerNumber, `+${cloudNumber.slice(0, 2)} (${cloudNumber.slice(2, 5)}) ${cloudNumber.slice(5)}`],
      ['partner', 'cloud'],
      [String(partnerLane), String(cloudLane)],
      [Number(partnerNumber), cloudLane],
      ['partner', partnerNumber, partnerLane, 'cloud'],
    ]) {
      const answer = await give(senders)
      expect([answer.status, answer.json], JSON.stringify(senders)).toMatchObject([201, { data: { senders: both } }])
    }
    const unknown = await give(['partner', two.partnerNumber, two.partnerLane, 'nobody'])
    const sentence = 'is not a sender of this account; name it by its number, its name or its id'
    expect([unknown.status, errorOf(unknown)]).toMatchObject([
      400,
      {
        code: 'invalid_request',
        details: [
          { path: 'senders[1]', message: `"${two.partnerNumber}" ${sentence}` },
          { path: 'senders[2]', message: `"${two.partnerLane}" ${sentence}` },
          { path: 'senders[3]', message: `"nobody" ${sentence}` },
        ],
      },
    ])
    for (const wrong of [[''], [0], [1.5], [null], [{}], ['x'.repeat(256)]]) {
      expect((await give(wrong)).status, JSON.stringify(wrong)).toBe(400)
    }
  })

  test('that are for some senders send only from those and control only their lanes', async () => {
    const key = await createCredential(service.redis, two.account, ['messages:send', 'admin'], Date.now(), 0, '', {
      senders: [two.cloudLane],
    })
    const hello = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'template' }
    const template = { name: 'plain_hello', language: { code: 'en_US' } }
    const send = (sender: string) => {
      const body = { ...hello, template, sender, api_key: key.secret }
      return service.post('/chatappbusiness/send-templated-message', body)
    }
    expect((await send(two.cloudNumber)).status).toBe(200)
    expect((await send(two.partnerNumber)).status).toBe(403)
    const lane = (id: number) => ask('GET', `/admin/lanes/${id}`, key.secret)
    expect([(await lane(two.cloudLane)).status, (await lane(two.partnerLane)).status]).toEqual([200, 403])
    for (const path of ['/admin/lanes', '/admin/keys', '/admin/activity']) {
      expect((await ask('GET', path, key.secret)).status, path).toBe(403)
    }
    const batch = { messages: [{ ...hello, template, sender: two.cloudNumber }] }
    expect((await ask('POST', '/messages/batch', key.secret, batch)).status).toBe(403)
  })

  test('that are for some senders are refused for another sender, and for a default sender that is not among them', async () => {
    const key = await createCredential(service.redis, two.account, ['messages:send'], Date.now(), 0, '', {
      senders: [two.cloudLane],
    })
    const send = (more: object) => {
      const link = 'https://example.com/hello.ogg'
      const hello = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' }
      return service.post('/sendservicemessages/sendmessages', {
        ...hello,
        audio: { link },
        api_key: key.secret,
        ...more,
      })
    }
    expect((await send({ sender: two.cloudNumber })).status).toBe(200)
    expect((await send({ sender: 'cloud' })).status).toBe(200)
    const other = await send({ sender: two.partnerNumber })
    expect([other.status, errorOf({ json: other.body }).message]).toEqual([403, 'The key is not for this sender.'])
    const byDefault = await send({})
    expect([byDefault.status, errorOf({ json: byDefault.body }).message]).toEqual([
      403,
      'The key is not for the default sender: name another one in the field sender.',
    ])
    expect((await send({ sender: 'nobody' })).status).toBe(400)
  })

  test('that are for some senders find only the messages of those, by either lookup', async () => {
    const three = await service.addTenant()
    const key = await createCredential(service.redis, three.account, ['messages:read'], Date.now(), 0, '', {
      senders: [three.cloudLane],
    })
    const all = await createCredential(service.redis, three.account, ['messages:send'], Date.now())
    const send = async (sender: string): Promise<string> => {
      const hello = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' }
      const audio = { link: 'https://example.com/hello.ogg' }
      const body = { ...hello, audio, sender, api_key: all.secret }
      return acknowledgedId(await service.post('/sendservicemessages/sendmessages', body))
    }
    const own = await send(three.cloudNumber)
    const other = await send(three.partnerNumber)
    for (const path of ['/chatappbusiness/fetchmessageinfo', '/chatappbusiness/getmessgageinfobyid']) {
      const look = (message_id: string) => service.post(path, { api_key: key.secret, message_id })
      expect((await look(own)).status, path).toBe(200)
      const refused = await look(other)
      expect([refused.status, errorOf({ json: refused.body }).message], path).toEqual([
        403,
        'The key is not for this sender.',
      ])
    }
  })

  test('are made once per Idempotency-Key, and the repeat does not show the key', async () => {
    const once = { 'idempotency-key': 'key' }
    const first = made.parse((await ask('POST', '/admin/keys', admin, { permissions: ['admin'] }, once)).json).data
    const again = made.parse((await ask('POST', '/admin/keys', admin, { permissions: ['admin'] }, once)).json).data
    expect(again).toMatchObject({ id: first.id, key: null })
  })

  test('are made once by many requests at once with one Idempotency-Key, and only one of them is shown the key', async () => {
    const asked = () => ask('POST', '/admin/keys', admin, { permissions: ['admin'] }, { 'idempotency-key': 'at once' })
    const answers = await Promise.all(Array.from({ length: 10 }, asked))
    const all = answers.map(({ json }) => made.parse(json).data)
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    const shown = all.flatMap(({ key }) => (key === null ? [] : [String(key)]))
    expect(shown).toHaveLength(1)
    expect((await ask('GET', '/admin/keys', String(shown[0]))).status).toBe(200)
  })

  test('are rotated once per Idempotency-Key, and the repeat ends the old key if the first did not', async () => {
    const old = await createCredential(service.redis, one.account, ['messages:read'], Date.now(), 0, 'reader')
    const rotate = (seconds: number) =>
      ask('POST', `/admin/keys/${old.id}/rotate`, admin, { overlap_seconds: seconds }, { 'idempotency-key': 'rotate' })
    const first = made.parse((await rotate(3600)).json).data
    await expireCredential(service.redis, one.account, old.id, Date.now() + 86_400_000)
    const again = await rotate(3600)
    expect(made.parse(again.json).data).toMatchObject({ id: first.id, key: null })
    const { replaces } = z
      .object({ data: z.object({ replaces: z.object({ expires_at: z.string() }) }) })
      .parse(again.json).data
    expect(Date.parse(replaces.expires_at)).toBeLessThan(Date.now() + 3_600_001)
    expect((await rotate(60)).status).toBe(422)
  })

  test('are rotated with an overlap, by a manager of the account', async () => {
    const old = await createCredential(service.redis, one.account, ['messages:read'], Date.now(), 0, 'reader')
    const answer = await ask('POST', `/admin/keys/${old.id}/rotate`, admin, { overlap_seconds: 3600 })
    expect(answer.status).toBe(201)
    const { key } = made.parse(answer.json).data
    for (const secret of [old.secret, String(key)]) expect((await ask('GET', '/messages', secret)).status).toBe(200)
    expect(answer.json).toMatchObject({ data: { name: 'reader', replaces: { id: old.id, state: 'active' } } })
    const now = await ask('POST', `/admin/keys/${old.id}/rotate`, admin, { overlap_seconds: 0 })
    expect(now.json).toMatchObject({ data: { replaces: { state: 'expired' } } })
    expect((await ask('POST', `/admin/keys/${old.id}/rotate`, admin, {})).status).toBe(409)
    const endsAt = Date.now() + 60_000
    const brief = await createCredential(service.redis, one.account, ['messages:read'], Date.now(), endsAt, 'brief')
    const sooner = await ask('POST', `/admin/keys/${brief.id}/rotate`, admin, { overlap_seconds: 3600 })
    expect(sooner.json).toMatchObject({ data: { replaces: { expires_at: new Date(endsAt).toISOString() } } })
    const gallery = await createCredential(service.redis, one.account, ['gallery'], Date.now())
    const run = await cli('keys', 'rotate', gallery.id, '--overlap', '24h', '--json')
    expect(documentIn(run.stdout)).toMatchObject({ permissions: ['gallery'], replaces: { id: gallery.id } })
  })

  test('that are revoked are refused, and the last key that can manage an account cannot be revoked', async () => {
    const mine = await createCredential(service.redis, two.account, ['admin'], Date.now())
    const other = await createCredential(service.redis, two.account, ['admin'], Date.now())
    const expired = await createCredential(service.redis, two.account, ['admin'], Date.now(), Date.now() - 1)
    expect((await ask('DELETE', `/admin/keys/${other.id}`, mine.secret)).json).toMatchObject({
      data: { state: 'revoked' },
    })
    const last = await ask('DELETE', `/admin/keys/${mine.id}`, mine.secret)
    expect([last.status, errorOf(last).code]).toEqual([409, 'last_admin_key'])
    expect((await ask('DELETE', `/admin/keys/${expired.id}`, mine.secret)).status).toBe(200)
    // An operator can make another one.
    expect((await ask('DELETE', `/admin/keys/${mine.id}`, operator, undefined, as(two.account))).status).toBe(200)
    expect((await ask('DELETE', `/admin/keys/${mine.id}`, admin)).status).toBe(404)
  })

  test('that revoke each other at the same time leave one of the two', async () => {
    const [a, b] = [await operatorKey(), await operatorKey()]
    const all = z
      .object({ data: z.array(z.object({ id: z.string() })) })
      .parse((await ask('GET', '/admin/keys', operator)).json)
    for (const { id } of all.data) if (id !== a.id && id !== b.id) await revokeCredential(service.redis, 0, id)
    const both = await Promise.all([
      ask('DELETE', `/admin/keys/${b.id}`, a.secret),
      ask('DELETE', `/admin/keys/${a.id}`, b.secret),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    operator = (await operatorKey()).secret
  })
})

const operatorKey = () => createCredential(service.redis, 0, [OPERATOR], Date.now())

describe('senders', () => {
  const numbered = (number: string, more: object = {}) => ({
    ...{ number, provider: 'partner-api', base_url: service.simulator.url, token: 'token-1' },
    ...more,
  })

  test('are added, changed and removed; their tokens are sealed and never shown', async () => {
    const token = 'secret-token-of-the-provider'
    const added = await ask('POST', '/admin/senders', admin, numbered('+44 7700 900811', { token, name: 'extra' }))
    expect(added.status).toBe(201)
    const { id } = made.parse(added.json).data
    const changes = { name: 'renamed', rate: 5, default: true }
    expect((await ask('PATCH', `/admin/senders/${id}`, admin, changes)).json).toMatchObject({ data: changes })
    expect((await ask('PATCH', `/admin/senders/${id}`, admin, { token: 'another' })).status).toBe(200)
    expect((await ask('PATCH', `/admin/senders/${one.partnerLane}`, admin, { name: 'renamed' })).status).toBe(409)
    expect((await ask('GET', '/admin/senders', admin)).text).not.toContain('token')
    expect(JSON.stringify(await stored(service.redis))).not.toContain(token)
    expect((await ask('GET', `/admin/lanes/${id}`, admin)).json).toMatchObject({ data: { rate: 5 } })
    expect((await ask('DELETE', `/admin/senders/${id}`, admin)).status).toBe(200)
    expect((await findSender(service.redis, Number(id)))?.removed_at).toBeDefined()
    expect((await ask('GET', `/admin/senders/${id}`, admin)).status).toBe(404)
  })

  test('with a number of another account are refused without revealing whose it is', async () => {
    const answer = await ask('POST', '/admin/senders', admin, numbered(`+${two.partnerNumber}`))
    expect([answer.status, errorOf(answer).code]).toEqual([409, 'sender_taken'])
    expect(errorOf(answer)).toMatchObject({ details: [{ path: 'number', message: 'belongs to another sender' }] })
  })

  test('on a server that is new to the account need an operator', async () => {
    const elsewhere = { base_url: 'http://169.254.169.254' }
    expect((await ask('POST', '/admin/senders', admin, numbered('+44 7700 900812', elsewhere))).status).toBe(403)
    expect((await ask('PATCH', `/admin/senders/${one.partnerLane}`, admin, elsewhere)).status).toBe(403)
    const wanted = numbered('+44 7700 900813', { base_url: 'https://provider.example' })
    expect((await ask('POST', '/admin/senders', operator, wanted)).status).toBe(400)
    expect((await ask('POST', '/admin/senders', operator, wanted, as(two.account))).status).toBe(201)
  })

  test('that still have work stay, and the answer says what it is', async () => {
    const audio = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' }
    const body = { ...audio, audio: { link: 'https://x.example/a.mp3' }, api_key: two.apiKey }
    expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(200)
    const answer = await ask('DELETE', `/admin/senders/${two.partnerLane}`, operator)
    expect([answer.status, errorOf(answer).code]).toEqual([409, 'sender_busy'])
    expect(errorOf(answer).message).toContain(
      `1 of its messages is not settled yet; \`messages list --sender ${two.partnerLane}\` with --state queued, `,
    )
  })

  test('are refused with all their faults', async () => {
    const wrong = { number: 'x', provider: 'cloud-api', base_url: 'ftp://x', token: 'a b', name: '1', rate: 0 }
    const answer = await ask('POST', '/admin/senders', admin, wrong)
    expect(answer.status).toBe(400)
    const paths = errorOf(answer).details.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['number', 'base_url', 'token', 'name', 'rate']))
  })
})

test('templates are imported all or none, then shown, listed and removed', async () => {
  const hello = { ...plainHello, name: 'greeting' }
  const bad = await ask('POST', '/admin/templates', admin, { data: [hello, { name: 'X' }] })
  expect([bad.status, errorOf(bad).details[0]?.path]).toEqual([400, expect.stringContaining('data[1]')])
  expect((await ask('GET', '/admin/templates/greeting', admin)).status).toBe(404)
  for (const body of [{ data: [hello] }, hello]) {
    expect((await ask('POST', '/admin/templates', admin, body)).status).toBe(200)
  }
  expect((await ask('GET', '/admin/templates', admin)).text).toContain('"greeting/')
  expect((await ask('GET', '/admin/templates/greeting', admin)).json).toMatchObject({ data: [{ name: 'greeting' }] })
  expect((await ask('DELETE', '/admin/templates/greeting?language=xx', admin)).status).toBe(404)
  expect((await ask('DELETE', '/admin/templates/greeting', admin)).status).toBe(200)
  expect((await ask('DELETE', '/admin/templates/greeting', admin)).status).toBe(404)
})

describe('contacts', () => {
  const import_ = (query: string, text: string, type = 'text/csv') =>
    service.api.as(admin).post(`/contacts/import${query}`, text, { 'content-type': type })
  const page = z.object({ data: z.array(z.object({ id: z.number(), phone: z.string() })), next: z.string().nullable() })

  test('are imported from a CSV with refused rows reported, and importing them again changes nothing', async () => {
    const csv = 'name,phone,email\nAda,+44 7700 900301,ada@x.example\nBen,none,\nEve,+44 7700 900302,\n'
    const first = await import_('?tag=News', csv)
    expect(first.json).toMatchObject({
      data: { imported: 2, created: 2, refused: 1, refused_rows: [{ line: 3, reason: expect.any(String) }] },
    })
    expect((await import_('?tag=News', csv)).json).toMatchObject({ data: { imported: 2, created: 0, joined: 0 } })
    expect((await ask('GET', '/contacts/tags', admin)).json).toMatchObject({ data: [{ name: 'News', contacts: 2 }] })
    expect((await import_('?tag=999999', csv)).status).toBe(404)
    expect((await import_('', csv)).status).toBe(400)
    expect((await import_('?tag=News', 'name,email\n')).status).toBe(400)
    expect((await import_('?tag=News', csv, 'text/plain')).status).toBe(415)
  })

  test.each([
    ['opens a quote', '"+44 7700 900352,Bo\n'],
    ['has cells without an end', `${','.repeat(1_000_000)}\n`],
  ])('before a row that %s are imported', async (_what, broken) => {
    const answer = await import_('?tag=Broken', `phone,name\n+44 7700 900351,Al\n${broken}+44 7700 900353,Cy\n`)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('on line 3')])
    const { json } = await ask('GET', '/contacts?q=90035', admin)
    expect(json).toMatchObject({ data: [{ phone: '447700900351' }] })
  })

  test.each(['/contacts/import?tag=Slow', '/opt-outs/import'])(
    'are no longer imported once the key is revoked, however slowly they come: %s',
    async (path) => {
      const made_ = await ask('POST', '/admin/keys', admin, { permissions: ['contacts:write'] })
      const { id, key } = z.object({ data: z.object({ id: z.string(), key: z.string() }) }).parse(made_.json).data
      const stop = new AbortController()
      let sent = 0
      const body = new ReadableStream<Uint8Array>({
        async pull(stream) {
          await new Promise((resolve) => setTimeout(resolve, 50))
          sent += 1
          // With so many empty lines that enough comes in 30 s: a body that is too slow is refused for that.
          const row = `+44 7700 ${900_360 + sent},Slow${'\n'.repeat(4_000)}`
          stream.enqueue(new TextEncoder().encode(sent === 1 ? 'phone,name\n' : row))
        },
      })
      const headers = { 'content-type': 'text/csv' }
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(300_000)])
      const answer = service.api.as(key).open(path, { method: 'POST', headers, body, duplex: 'half', signal })
      await eventually(async () => sent > 2, 'it has begun')
      expect((await ask('DELETE', `/admin/keys/${id}`, admin)).status).toBe(200)
      expect((await answer).status).toBe(401)
      stop.abort()
    },
  )

  test('are created, changed and deleted, one contact per number', async () => {
    const ivy = { phone: '+44 7700 900311', name: 'Ivy' }
    const added = await ask('POST', '/contacts', admin, ivy)
    const { id } = made.parse(added.json).data
    expect([added.status, (await ask('POST', '/contacts', admin, ivy)).status]).toEqual([201, 409])
    const [tag] = z
      .object({ data: z.array(z.object({ id: z.number() })) })
      .parse((await ask('GET', '/contacts/tags', admin)).json).data
    const joined = await ask('PATCH', `/contacts/${id}`, admin, { tags: [tag?.id], name: null, email: 'i@x.example' })
    expect(joined.json).toMatchObject({ data: { tags: [tag?.id], name: null, email: 'i@x.example' } })
    expect((await ask('PATCH', `/contacts/${id}`, admin, { tags: [999_999] })).status).toBe(400)
    expect((await ask('PATCH', `/contacts/${id}`, admin, { phone: '+44 7700 900301' })).status).toBe(409)
    expect((await ask('PATCH', `/contacts/${id}`, admin, { phone: '+44 7700 900312', tags: [] })).status).toBe(200)
    expect((await ask('GET', `/contacts?tag=${tag?.id}`, admin)).text).not.toContain('900312')
    // The number that it had is free again.
    expect((await ask('POST', '/contacts', admin, ivy)).status).toBe(201)
    expect((await ask('DELETE', `/contacts/${id}`, admin)).status).toBe(200)
    expect((await ask('DELETE', `/contacts/${id}`, admin)).status).toBe(404)
    expect(JSON.stringify(await stored(service.redis))).not.toContain('447700900312')
  })

  test('are found by part of a name, an email or a number, and listed in pages, each once', async () => {
    const rows = Array.from({ length: 700 }, (_, i) => `Person ${i},+4477009${String(10_000 + i)},p${i}@x.example`)
    const many = await import_('?tag=Many', `name,phone,email\n${rows.join('\n')}\n`)
    const { id: tag } = z.object({ data: z.object({ tag: z.object({ id: z.number() }) }) }).parse(many.json).data.tag
    const found = async (query: string) => page.parse((await ask('GET', `/contacts?${query}`, admin)).json).data.length
    expect([await found('q=Person 69'), await found('q=p17@x'), await found('q=%2B44 7700 910699')]).toEqual([11, 1, 1])
    for (const path of ['/contacts?limit=90', `/contacts?limit=90&tag=${tag}`]) {
      const seen: number[] = []
      let cursor: string | null = null
      do {
        const { data, next }: z.infer<typeof page> = page.parse(
          (await ask('GET', `${path}${cursor === null ? '' : `&cursor=${cursor}`}`, admin)).json,
        )
        expect(data.length).toBeLessThanOrEqual(90)
        seen.push(...data.map(({ id }) => id))
        cursor = next
      } while (cursor !== null)
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.length).toBeGreaterThanOrEqual(700)
    }
    for (const query of ['cursor=x', 'cursor=m1', `tag=${tag}&cursor=s0.0`, 'limit=0', 'q=', 'name=x']) {
      expect((await ask('GET', `/contacts?${query}`, admin)).status, query).toBe(400)
    }
  })
})
