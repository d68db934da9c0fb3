// Pins: who may sign in to the console, what its cookie is good for and what not, and when it ends. Real: Redis, HTTP,
// producer.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createCredential,
  expireCredential,
  type Permission,
  revokeCredential,
} from '../../src/accounts/credentials.ts'
import { createSession, endSession, findSession, SESSION_MS } from '../../src/accounts/sessions.ts'
import { createSignInAttempts } from '../../src/producer/api/console/handlers.ts'
import { consolePages } from '../../src/producer/api/console/pages.ts'
import { errorOf } from '../support/api-error.ts'
import { silentLog, startApp } from '../support/app.ts'
import { inspect } from '../support/declared-routes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { allSessions } from '../support/state/accounts.ts'
import { storedBytes } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

const SAME = { 'sec-fetch-site': 'same-origin' }
const answered = z.looseObject({ data: z.looseObject({ expires_at: z.string(), permissions: z.array(z.string()) }) })

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
})
afterAll(() => service?.close())

const makeKey = (permissions: Permission[], expiresAtMs = 0) =>
  createCredential(service.redis, tenant.account, permissions, Date.now(), expiresAtMs, 'Ada')

const signIn = (key: string, headers: Record<string, string> = SAME) =>
  inspect(`${service.url}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ key }),
  })

const cookieOf = ({ headers }: { headers: Headers }): string => headers.get('set-cookie')?.split(';')[0] ?? ''

/** The cookie of a new session of a key with these permissions. */
async function signedIn(...permissions: Permission[]): Promise<string> {
  const answer = await signIn((await makeKey(permissions)).secret)
  expect(answer.status).toBe(200)
  return cookieOf(answer)
}

const get = (path: string, cookie: string, headers: Record<string, string> = SAME) =>
  inspect(`${service.url}${path}`, { headers: { cookie, ...headers } })
const post = (path: string, cookie: string, body: object, headers: Record<string, string> = SAME) =>
  inspect(`${service.url}${path}`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

describe('signing in', () => {
  test('sets a cookie that no script can read, no other site can use, and that ends after 12 hours', async () => {
    const { secret } = await makeKey(['admin'])
    const answer = await signIn(secret)
    expect(answer.headers.get('set-cookie')).toMatch(
      /^laneway_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    expect(answer.text).not.toContain(secret)
    expect(answer.json).toMatchObject({
      data: { key_name: 'Ada', account: { id: tenant.account, name: 'tenant 1' } },
    })
    const left = Date.parse(answered.parse(answer.json).data.expires_at) - Date.now()
    expect(left).toBeGreaterThan(SESSION_MS - 60_000)
    expect(left).toBeLessThanOrEqual(SESSION_MS)
  })

  test.each([
    ['the proxy before us', { 'x-forwarded-proto': 'https' }],
    ['the first of several proxies', { 'x-forwarded-proto': 'https, http' }],
    ['the address of the page', { origin: 'https://console.example' }],
  ])('sets a cookie that is never sent unencrypted when %s shows that TLS was used', async (_who, headers) => {
    const answer = await signIn((await makeKey(['admin'])).secret, { ...SAME, ...headers })
    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
  })

  test('works from the addresses allowed for the key, and from no other', async () => {
    const keyFor = async (address: string) =>
      (await createCredential(service.redis, tenant.account, ['admin'], Date.now(), 0, 'Ada', { addresses: [address] }))
        .secret
    expect((await signIn(await keyFor('127.0.0.0/8'))).status).toBe(200)
    expect((await signIn(await keyFor('192.0.2.0/24'))).status).toBe(403)
  })

  test('is listed in the activity with the key, and so is signing out', async () => {
    const { id, secret } = await makeKey(['admin'])
    const cookie = cookieOf(await signIn(secret))
    await inspect(`${service.url}/console/session`, { method: 'DELETE', headers: { cookie, ...SAME } })
    const { json } = await get('/admin/activity?limit=3', await signedIn('admin'))
    const by = { actor: { key_id: id, key_name: 'Ada' }, account: tenant.account }
    expect(json).toMatchObject({
      data: [{}, { ...by, action: 'console.sign_out' }, { ...by, action: 'console.sign_in' }],
    })
  })

  test('that fails is not listed as an act', async () => {
    const cookie = await signedIn('admin')
    expect((await signIn('lw_nobody')).status).toBe(401)
    expect((await get('/admin/activity?limit=1', cookie)).json).toMatchObject({ data: [{ action: 'console.sign_in' }] })
  })

  test('stores neither the key nor the id of the session', async () => {
    const { secret } = await makeKey(['admin'])
    const id = cookieOf(await signIn(secret)).split('=')[1] ?? ''
    expect(id).toHaveLength(43)
    for (const [name, bytes] of await storedBytes(service.redis)) {
      expect(name.includes(id) || bytes.includes(id), name).toBe(false)
      expect(name.includes(secret) || bytes.includes(secret), name).toBe(false)
    }
  })

  test('is refused for a key that may neither see messages nor run the account', async () => {
    const answer = await signIn((await makeKey(['messages:send', 'gallery'])).secret)
    expect([answer.status, errorOf(answer).code]).toEqual([403, 'forbidden'])
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  test('is refused from another site, also with the right key', async () => {
    const { secret } = await makeKey(['admin'])
    for (const site of ['cross-site', 'same-site', 'none']) {
      expect((await signIn(secret, { 'sec-fetch-site': site })).status, site).toBe(403)
    }
  })

  test('ends the oldest session of a key that has fifty', async () => {
    const { secret } = await makeKey(['admin'])
    const began = Date.now()
    const first = await createSession(service.redis, secret, began)
    const second = await createSession(service.redis, secret, began + 1)
    for (let i = 2; i <= 50; i += 1) await createSession(service.redis, secret, began + i)
    expect(await findSession(service.redis, first.id)).toBeUndefined()
    expect(await findSession(service.redis, second.id)).toBeDefined()
  })

  test('is blocked for an address after ten wrong keys, and for no other address', () => {
    let now = 1_000
    const attempts = createSignInAttempts({ now: () => now })
    for (let i = 0; i < 10; i += 1) {
      expect(attempts.waitSeconds('a')).toBe(0)
      attempts.failed('a')
    }
    expect(attempts.waitSeconds('a')).toBe(60)
    expect(attempts.waitSeconds('b')).toBe(0)
    now += 59_001
    expect(attempts.waitSeconds('a')).toBe(1)
    now += 1_000
    expect(attempts.waitSeconds('a')).toBe(0)
  })
})

describe('a session', () => {
  test('of a key that may run the account can see and do everything in it, and so can the key itself', async () => {
    const { secret } = await makeKey(['admin'])
    const cookie = cookieOf(await signIn(secret))
    for (const path of [
      '/messages',
      '/campaigns',
      '/contacts',
      '/event-endpoints',
      '/partners/wp-gallery/manage/folders',
    ]) {
      expect((await get(path, cookie)).status, path).toBe(200)
      expect((await service.api.as(secret).get(path)).status, path).toBe(200)
    }
    expect((await get('/admin/accounts', cookie)).status).toBe(403)
    expect((await service.api.as(secret).get('/admin/accounts')).status).toBe(403)
  })

  test('of a key for some senders can do no more than the key', async () => {
    const { secret } = await createCredential(service.redis, tenant.account, ['admin'], Date.now(), 0, '', {
      senders: [tenant.partnerLane],
    })
    const cookie = cookieOf(await signIn(secret))
    const session = await get('/console/session', cookie)
    expect(session.json).toMatchObject({
      data: { permissions: ['admin'], senders: [tenant.partnerLane], default_sender: true },
    })
    for (const path of [
      `/admin/lanes/${tenant.partnerLane}`,
      '/console/snapshot',
      '/console/history',
      '/console/demo',
    ]) {
      expect((await get(path, cookie)).status, path).toBe(200)
    }
    expect((await get(`/admin/lanes/${tenant.cloudLane}`, cookie)).status).toBe(403)
    const id = `msg_${tenant.partnerLane}_01M7WMESZP60D32VY8E5FM00EP`
    for (const path of ['/messages', `/messages/${id}`, '/contacts', '/admin/keys', '/admin/lanes']) {
      expect((await get(path, cookie)).status, path).toBe(403)
      expect((await service.api.as(secret).get(path)).status, path).toBe(403)
    }
  })

  test('works wherever its key works: in a header, in a body, and on the fast path', async () => {
    const cookie = await signedIn('admin', 'messages:read', 'messages:send')
    expect((await get('/admin/lanes', cookie)).status).toBe(200)
    const message = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001' }
    const sent = await post('/sendservicemessages/sendmessages', cookie, {
      ...{ ...message, type: 'audio', audio: { link: 'https://example.com/a.mp3' } },
    })
    expect([sent.status, sent.text]).toMatchObject([200, expect.stringContaining('"messages"')])
  })

  test('of a key that may only read can see and cannot act', async () => {
    const cookie = await signedIn('messages:read')
    expect((await get('/console/session', cookie)).status).toBe(200)
    expect((await get('/messages', cookie)).status).toBe(200)
    expect((await post(`/admin/lanes/${tenant.partnerLane}/pause`, cookie, {})).status).toBe(403)
    expect((await post('/messages/requeue', cookie, { all: true })).status).toBe(403)
  })

  test('is refused for any request from another site', async () => {
    const cookie = await signedIn('admin', 'messages:read')
    for (const site of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site }
      expect((await get('/admin/lanes', cookie, headers)).status, site).toBe(403)
      expect((await post(`/admin/lanes/${tenant.partnerLane}/pause`, cookie, {}, headers)).status, site).toBe(403)
    }
    const { status } = await post(`/admin/lanes/${tenant.partnerLane}/pause`, cookie, {}, { 'sec-fetch-site': 'none' })
    expect(status).toBe(403)
  })

  test('may be used to look from the address bar', async () => {
    const cookie = await signedIn('messages:read')
    expect((await get('/messages', cookie, { 'sec-fetch-site': 'none' })).status).toBe(200)
  })

  test('of a browser that sends no site may make changes only from its own origin', async () => {
    const cookie = await signedIn('admin')
    const pause = async (headers: Record<string, string>) =>
      (await post(`/admin/lanes/${tenant.partnerLane}/pause`, cookie, {}, headers)).status
    expect(await pause({})).toBe(403)
    expect(await pause({ origin: 'https://evil.example' })).toBe(403)
    expect(await pause({ origin: 'null' })).toBe(403)
    expect(await pause({ origin: service.url })).toBe(200)
    expect((await get('/admin/lanes', cookie, {})).status).toBe(200)
  })

  test('does not replace a key that is wrong', async () => {
    const cookie = await signedIn('admin')
    expect((await get('/admin/lanes', cookie, { ...SAME, authorization: 'Bearer garbage' })).status).toBe(401)
  })

  test('is over after signing out', async () => {
    const cookie = await signedIn('admin')
    const out = await inspect(`${service.url}/console/session`, { method: 'DELETE', headers: { cookie, ...SAME } })
    expect(out.status).toBe(200)
    expect(out.headers.get('set-cookie')).toMatch(/^laneway_session=; Max-Age=0;/)
    const after = await get('/console/session', cookie)
    expect([after.status, errorOf(after).message]).toEqual([401, 'The session is over: sign in again.'])
  })

  test('is over a second after its key was revoked', async () => {
    const { id, secret } = await makeKey(['admin'])
    const cookie = cookieOf(await signIn(secret))
    expect((await get('/admin/lanes', cookie)).status).toBe(200)
    await revokeCredential(service.redis, tenant.account, id)
    await eventually(async () => (await get('/admin/lanes', cookie)).status === 401, 'the session is over')
  })

  test('is over once its key has expired', async () => {
    const { id, secret } = await makeKey(['admin'], Date.now() + 3_600_000)
    const cookie = cookieOf(await signIn(secret))
    expect((await get('/admin/lanes', cookie)).status).toBe(200)
    // Only now: a machine that stands still may take any time to sign in.
    await expireCredential(service.redis, tenant.account, id, Date.now() + 1)
    await eventually(async () => (await get('/admin/lanes', cookie)).status === 401, 'the session is over')
  })

  test("expires in Redis by itself, and so does the list of a key's sessions", async () => {
    const { secret } = await makeKey(['admin'])
    const past = await createSession(service.redis, secret, Date.now() - SESSION_MS + 50)
    await eventually(async () => (await findSession(service.redis, past.id)) === undefined, 'the session is over')
    await endSession(service.redis, past.id)
    for (const { name, livesMs } of await allSessions(service.redis)) {
      expect(await livesMs(), name).toBeGreaterThan(0)
    }
  })

  test.each(['', 'x', 'a'.repeat(43), '../../key', 'é'.repeat(43)])('with the id %j is refused', async (id) => {
    const cookie = `laneway_session=${encodeURIComponent(id)}`
    expect((await get('/console/session', cookie)).status).toBe(401)
  })
})

describe('the pages of the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-pages-'))
  let pages: Awaited<ReturnType<typeof startApp>>
  beforeAll(async () => {
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), '<!doctype html><title>console</title>')
    writeFileSync(join(folder, 'assets', 'index-0a1b2c3d.js'), 'export {}')
    pages = await startApp(service.redis, [], silentLog, consolePages(folder))
  })
  afterAll(async () => {
    await pages?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('are one page at every address, which may load nothing from elsewhere', async () => {
    for (const path of ['/console', '/console/', '/console/lanes', '/console/messages/wamid.HBgM.X']) {
      const page = await fetch(pages.url + path)
      expect([page.status, await page.text()], path).toEqual([200, expect.stringContaining('<title>console')])
      const policy = page.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
      expect(page.headers.get('cache-control')).toBe('no-cache')
      expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('have assets that a browser keeps forever, and serve no file outside their folder', async () => {
    const asset = await fetch(`${pages.url}/console/assets/index-0a1b2c3d.js`)
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(asset.headers.get('content-type')).toMatch(/^text\/javascript/)
    for (const path of ['/console/assets/none.js', '/console/%2e%2e/package.json', '/console/assets/..%2findex.html']) {
      expect((await fetch(pages.url + path)).status, path).toBeGreaterThanOrEqual(400)
    }
  })

  test('are where a person who opens the service is redirected', async () => {
    const led = await fetch(`${pages.url}/`, { headers: { accept: 'text/html,*/*' }, redirect: 'manual' })
    expect([led.status, led.headers.get('location')]).toEqual([302, '/console'])
    expect((await fetch(`${pages.url}/`, { redirect: 'manual' })).status).toBe(302)
  })

  test('say so when they were not built', async () => {
    const bare = await startApp(service.redis, [], silentLog, consolePages(join(folder, 'none')))
    const page = await inspect(`${bare.url}/console`)
    await bare.close()
    expect([page.status, errorOf(page).message]).toEqual([503, expect.stringContaining('npm run build')])
  })
})
