// Pins: no route can be used without the credential and the permission that it is declared with, and what belongs to
// another account cannot be told apart from what does not exist. Generated from the router of the running producer.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential, PERMISSIONS, type Permission, revokeCredential } from '../../src/accounts/credentials.ts'
import { createSession } from '../../src/accounts/sessions.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { errorOf } from '../support/api-error.ts'
import { callDeclared, DECLARED, type DeclaredRoute, ONE_OF_EACH_EDGE } from '../support/declared-routes.ts'
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
  for (const owner of [NO_ACCOUNT, tenant.account]) {
    const all: readonly Permission[] = owner === NO_ACCOUNT ? [OPERATOR] : PERMISSIONS
    const expired = await createCredential(service.redis, owner, all, Date.now(), Date.now() - 1)
    const revoked = await createCredential(service.redis, owner, all, Date.now())
    await revokeCredential(service.redis, owner, revoked.id)
    over.set(owner, { expired: expired.secret, revoked: revoked.secret, revokedId: revoked.id })
  }
})
afterAll(() => service?.close())

/** Keys that open nothing, although they have every permission that their owner can have. */
const over = new Map<number, { expired: string; revoked: string; revokedId: string }>()
/** A good key with these permissions. */
const keyOf = async (permissions: readonly Permission[]): Promise<string> =>
  (await createCredential(service.redis, tenant.account, permissions, Date.now())).secret
const keyWith = (permission: Permission): string => keys.get(permission) ?? ''
/** A session of the key; every call gets one of its own, because one of them ends it. */
const sessionOf = async (key: string) => ({
  cookie: `laneway_session=${(await createSession(service.redis, key, Date.now())).id}`,
  'sec-fetch-site': 'same-origin',
})
/** A key in the form in which the route takes it. */
const asTaken = (route: DeclaredRoute, key: string): string => (route.key === 'bearer' ? `Bearer ${key}` : key)

test('every route of the running producer is declared, and every declared one exists', async () => {
  expect((await routesOf(service.url)).sort()).toEqual(DECLARED.map(({ name }) => name).sort())
})

test('every declared permission exists', () => {
  for (const { name, needs } of PROTECTED) expect([...PERMISSIONS, OPERATOR], name).toContain(needs)
})

describe.each(PROTECTED.map((route, place) => [route.name, route, place] as const))('%s', (_name, route, place) => {
  const isFirst = ONE_OF_EACH_EDGE.has(route)
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

  test('is closed to every key that is not valid', async () => {
    const needs = route.needs ?? 'admin'
    const good = keyWith(needs)
    const {
      expired = '',
      revoked = '',
      revokedId = '',
    } = over.get(needs === OPERATOR ? NO_ACCOUNT : tenant.account) ?? {}
    const wellFormed = {
      'a wrong checksum': `${good.slice(0, -1)}${good.endsWith('a') ? 'b' : 'a'}`,
      expired,
      revoked,
    }
    // How a key is read and found depends on the edge alone: other routes take turns.
    const turn = Object.entries(wellFormed).filter((_each, i) => i === place % 3)
    const wrong: Record<string, string> = {
      ...(isFirst ? wellFormed : Object.fromEntries(turn)),
      ...(isFirst && {
        garbage: 'garbage',
        'another letter case': good.toUpperCase(),
        'a character too many': `${good}x`,
        'a character too few': good.slice(0, -1),
        'one that nobody was given': 'lw_00000000000000000000000000000000000000',
        'the id of a key': revokedId,
      }),
    }
    for (const [about, key] of Object.entries(wrong)) await expect401(asTaken(route, key), about)
  })

  test('is closed to a valid key that is sent in the wrong way', async () => {
    const good = keyWith(route.needs ?? 'admin')
    if (route.key === 'bearer') {
      const more = [`Basic ${good}`, `Token ${good}`, `Bearer${good}`, 'Bearer', `Bearer ${good} x`]
      for (const header of [good, ...(isFirst ? more : [])]) {
        await expect401(header, header.replace(good, '…'))
      }
      const inBody = await callDeclared(service.url, route, undefined, { body: { api_key: good } })
      expect(inBody.status).toBe(401)
      return
    }
    for (const key of [[good], ...(isFirst ? [{ key: good }, 5, true, '', ` ${good}`] : [])])
      await expect401(key, typeof key)
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

  test('is closed to a valid key without its permission, and open to one with it, and to their sessions alike', async () => {
    const isForOperators = route.needs === OPERATOR
    const enough = PERMISSIONS.filter(
      (permission) =>
        permission === route.needs || route.also.includes(permission) || (permission === 'admin' && !isForOperators),
    )
    // All others in one key: a route that any of them opened would open to it.
    const lacking = await keyOf(PERMISSIONS.filter((permission) => !enough.includes(permission)))
    const asSession = async (key: string) =>
      callDeclared(service.url, route, undefined, { headers: await sessionOf(key) })
    const every = [...enough, OPERATOR] as const
    // A session has the permissions of its key: one of them shows that the route takes it.
    const withSession = every[place % every.length]
    for (const permission of every) {
      const key = keyWith(permission)
      const answers = {
        asKey: await call(asTaken(route, key)),
        ...((isFirst || permission === withSession) && { asSession: await asSession(key) }),
      }
      for (const [way, answer] of Object.entries(answers)) {
        expect([401, 403, 500], `${permission} ${way}`).not.toContain(answer.status)
      }
    }
    const refusals = { asKey: await call(asTaken(route, lacking)), asSession: await asSession(lacking) }
    for (const [way, answer] of Object.entries(refusals)) {
      expect([answer.status, errorOf(answer).code], way).toEqual([403, 'forbidden'])
      expect(errorOf(answer).message, way).toContain(String(route.needs))
    }
  })
})

test('the scheme of the header is accepted in any letter case', async () => {
  for (const route of [...ONE_OF_EACH_EDGE].filter(({ key }) => key === 'bearer')) {
    for (const scheme of ['bearer', 'BEARER']) {
      const answer = await callDeclared(service.url, route, `${scheme} ${keyWith(route.needs ?? 'admin')}`)
      expect([401, 403], route.name).not.toContain(answer.status)
    }
  }
})

test('a revoked key that is in use is refused within seconds', async () => {
  const route = DECLARED.find(({ path }) => path === '/admin/lanes')
  if (!route) throw new Error('no such route')
  const { id, secret } = await createCredential(service.redis, tenant.account, ['admin'], Date.now())
  expect((await callDeclared(service.url, route, `Bearer ${secret}`)).status).toBe(200)
  await revokeCredential(service.redis, tenant.account, id)
  const refused = async () => (await callDeclared(service.url, route, `Bearer ${secret}`)).status === 401
  await eventually(refused, 'the key is refused', 5_000)
})

test('a key that expires while in use is refused from then on', async () => {
  const route = DECLARED.find(({ path }) => path === '/admin/lanes')
  if (!route) throw new Error('no such route')
  const withKey = async (validMs: number) => {
    const expiresAt = Date.now() + validMs
    const { secret } = await createCredential(service.redis, tenant.account, ['admin'], Date.now(), expiresAt)
    const ask = async () => (await callDeclared(service.url, route, `Bearer ${secret}`)).status
    return { expiresAt, ask, status: await ask() }
  }
  let key = await withKey(700)
  // On a slow machine it may have expired before it was used: then one is valid for longer.
  for (let validMs = 3_000; key.status === 401 && Date.now() >= key.expiresAt; validMs *= 4)
    key = await withKey(validMs)
  const { expiresAt, ask, status } = key
  expect(status).toBe(200)
  const refused = async () => (await ask()) === 401
  await eventually(refused, 'the key is refused', 5_000)
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAt)
})

test('no key is stored in plain text', async () => {
  const all = JSON.stringify(await stored(service.redis))
  for (const key of keys.values()) {
    expect(all).not.toContain(key)
    expect(all).not.toContain(key.slice(3, 20))
  }
})
