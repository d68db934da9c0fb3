// Pins: no route can be used without the credential and the permission that it is declared with, and what belongs to
// another account cannot be told apart from what does not exist. Generated from the router of the running producer.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential, PERMISSIONS, type Permission, revokeCredential } from '../../src/accounts/credentials.ts'
import { createSession } from '../../src/accounts/sessions.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { errorOf } from '../support/api-error.ts'
import { callDeclared, DECLARED, type DeclaredRoute } from '../support/declared-routes.ts'
import { routesOf } from '../support/routes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { stored } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

const PROTECTED = DECLARED.filter(({ key }) => key !== 'none')

let service: Service
let tenant: Tenant
const keys = new Map<Permission, string>()
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
  for (const permission of PERMISSIONS) keys.set(permission, await tenant.key(permission))
  keys.set(OPERATOR, (await createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now())).secret)
})
afterAll(() => service?.close())

const keyWith = (permission: Permission): string => keys.get(permission) ?? ''
/** A session of the key; every call gets one of its own, because one of them ends it. */
const sessionOf = async (key: string) => ({
  cookie: `laneway_session=${(await createSession(service.redis, key, Date.now())).id}`,
  'sec-fetch-site': 'same-origin',
})
/** A key in the form in which the route takes it. */
const asTaken = (route: DeclaredRoute, key: string): string => (route.key === 'bearer' ? `Bearer ${key}` : key)

test('every route of the running producer is declared, and every declared one is there', async () => {
  expect((await routesOf(service.url)).sort()).toEqual(DECLARED.map(({ name }) => name).sort())
})

test('every declared permission exists', () => {
  for (const { name, needs } of PROTECTED) expect([...PERMISSIONS, OPERATOR], name).toContain(needs)
})

describe.each(PROTECTED.map((route) => [route.name, route] as const))('%s', (_name, route) => {
  const call = (key: unknown) => callDeclared(service.url, route, key)
  const expect401 = async (key: unknown, about: string) => {
    const answer = await call(key)
    expect(answer.status, about).toBe(401)
    expect(errorOf(answer).code, about).toBe('unauthorized')
    expect(answer.headers.get('www-authenticate'), about).toBe('Bearer')
  }

  test('is closed without a key', async () => {
    // The one exception that the interface makes.
    if (route.path.endsWith('/fetchContactsTagWise')) {
      expect((await call(undefined)).status).toBe(400)
      expect((await call(null)).status).toBe(400)
    } else await expect401(undefined, 'none')
  })

  test('is closed to every key that is not good', async () => {
    const needs = route.needs ?? 'admin'
    const good = keyWith(needs)
    const owner = needs === OPERATOR ? NO_ACCOUNT : tenant.account
    const expired = await createCredential(service.redis, owner, [needs], Date.now(), Date.now() - 1)
    const revoked = await createCredential(service.redis, owner, [needs], Date.now())
    await revokeCredential(service.redis, owner, revoked.id)
    const wrong: Record<string, string> = {
      garbage: 'garbage',
      'a wrong checksum': `${good.slice(0, -1)}${good.endsWith('a') ? 'b' : 'a'}`,
      'another letter case': good.toUpperCase(),
      'a character too many': `${good}x`,
      'a character too few': good.slice(0, -1),
      'one that nobody was given': 'lw_00000000000000000000000000000000000000',
      expired: expired.secret,
      revoked: revoked.secret,
      'the id of a key': revoked.id,
    }
    for (const [about, key] of Object.entries(wrong)) await expect401(asTaken(route, key), about)
  })

  test('is closed to a good key that travels wrongly', async () => {
    const good = keyWith(route.needs ?? 'admin')
    if (route.key === 'bearer') {
      for (const header of [good, `Basic ${good}`, `Token ${good}`, `Bearer${good}`, 'Bearer', `Bearer ${good} x`]) {
        await expect401(header, header.replace(good, '…'))
      }
      const inBody = await callDeclared(service.url, route, undefined, { body: { api_key: good } })
      expect(inBody.status).toBe(401)
      return
    }
    for (const key of [[good], { key: good }, 5, true, '', ` ${good}`]) await expect401(key, typeof key)
    const inHeader = await fetch(service.url + route.path, {
      method: route.method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${good}` },
      body: '{}',
    })
    expect([400, 401]).toContain(inHeader.status)
    const inQuery = await fetch(`${service.url}${route.path}?api_key=${good}`, {
      method: route.method,
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect([400, 401]).toContain(inQuery.status)
  })

  test('is closed to a good key that lacks its permission, and open to one that has it, with its session alike', async () => {
    const enough = [route.needs, ...route.also, ...(route.needs === OPERATOR ? [] : ['admin'])]
    for (const permission of [...PERMISSIONS, OPERATOR] as const) {
      const key = keyWith(permission)
      const asKey = await call(asTaken(route, key))
      const asSession = await callDeclared(service.url, route, undefined, { headers: await sessionOf(key) })
      for (const [way, answer] of Object.entries({ asKey, asSession })) {
        const about = `${permission} ${way}`
        if (permission === OPERATOR || enough.includes(permission)) {
          expect([401, 403, 500], about).not.toContain(answer.status)
        } else {
          expect([answer.status, errorOf(answer).code], about).toEqual([403, 'forbidden'])
          expect(errorOf(answer).message, about).toContain(String(route.needs))
        }
      }
    }
  })

  test('takes the scheme of its header in any letter case', async () => {
    if (route.key !== 'bearer') return
    for (const scheme of ['bearer', 'BEARER']) {
      expect([401, 403]).not.toContain((await call(`${scheme} ${keyWith(route.needs ?? 'admin')}`)).status)
    }
  })
})

test('a key that is revoked while it is in use is refused within seconds', async () => {
  const route = DECLARED.find(({ path }) => path === '/admin/lanes')
  if (!route) throw new Error('no such route')
  const { id, secret } = await createCredential(service.redis, tenant.account, ['admin'], Date.now())
  expect((await callDeclared(service.url, route, `Bearer ${secret}`)).status).toBe(200)
  await revokeCredential(service.redis, tenant.account, id)
  const refused = async () => (await callDeclared(service.url, route, `Bearer ${secret}`)).status === 401
  await eventually(refused, 'the key is refused', 5_000)
})

test('a key that expires while it is in use is refused from then on', async () => {
  const route = DECLARED.find(({ path }) => path === '/admin/lanes')
  if (!route) throw new Error('no such route')
  const expiresAt = Date.now() + 700
  const { secret } = await createCredential(service.redis, tenant.account, ['admin'], Date.now(), expiresAt)
  expect((await callDeclared(service.url, route, `Bearer ${secret}`)).status).toBe(200)
  const refused = async () => (await callDeclared(service.url, route, `Bearer ${secret}`)).status === 401
  await eventually(refused, 'the key is refused', 5_000)
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
})

test('no key is kept in clear', async () => {
  const all = JSON.stringify(await stored(service.redis))
  for (const key of keys.values()) {
    expect(all).not.toContain(key)
    expect(all).not.toContain(key.slice(3, 20))
  }
})
