// Pins: the rules that every route obeys, generated from the router of the running producer: methods, addresses, bodies,
// the order of the checks, and request ids.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { OPERATOR, PERMISSIONS, type Permission } from '../../src/model/accounts/permissions.ts'
import { errorOf } from '../support/api-error.ts'
import {
  callDeclared,
  DECLARED,
  type DeclaredRoute,
  type Inspected,
  inspect,
  ONE_OF_EACH_EDGE,
  withParameters,
} from '../support/declared-routes.ts'
import { routesOf } from '../support/routes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let tenant: Tenant
let served: string[]
const keys = new Map<Permission, string>()
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
  for (const permission of PERMISSIONS) keys.set(permission, await tenant.key(permission))
  keys.set(OPERATOR, (await createCredential(service.redis, 0, [OPERATOR], Date.now())).secret)
  served = await routesOf(service.url)
})
afterAll(() => service?.close())

const keyWith = (permission: Permission | undefined): string => (permission && keys.get(permission)) ?? ''
const JSON_ROUTES = DECLARED.filter(({ body }) => body !== 'other')
/** What a body is refused for depends on the edge alone. */
const ONE_JSON_ROUTE_OF_EACH_EDGE = JSON_ROUTES.filter((route) => ONE_OF_EACH_EDGE.has(route))

interface Sending {
  type?: string
  body?: RequestInit['body']
  headers?: Record<string, string>
}

/** A request with any body, and with a good key where it travels in the header: some routes look at that first. */
const sendTo = (route: DeclaredRoute, { type, body, headers = {} }: Sending): Promise<Inspected> =>
  inspect(service.url + route.path, {
    method: route.method,
    headers: {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(route.key === 'bearer' ? { authorization: `Bearer ${keyWith(route.needs)}` } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body, duplex: 'half' }),
  })

const codeOf = (answer: Inspected) => `${answer.status} ${errorOf(answer).code}`

/** The code of the error, empty when it was none. Never one of ours. */
function codeIfAny(answer: Inspected): string {
  expect(answer.status, answer.text).toBeLessThan(500)
  return answer.status < 400 ? '' : errorOf(answer).code
}

/** What a body is refused for before its fields are looked at. */
const UNREADABLE = [
  'invalid_json',
  'invalid_body',
  'too_deep',
  'too_many_values',
  'too_large',
  'unsupported_media_type',
]

describe('methods', () => {
  test('that an address does not accept are 405, with those that it accepts', async () => {
    const split = served.map((name) => name.split(' '))
    const paths = [...new Set(split.map(([, address = '']) => address))]
    for (const [place, path] of paths.entries()) {
      const taken = split.filter(([, address]) => address === path).map(([method = '']) => method)
      const left = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].filter((method) => !taken.includes(method))
      // One handler of the address answers all that are left, so two of them will do; the addresses take turns.
      for (const method of ['PROPFIND', left[place % left.length] ?? 'OPTIONS']) {
        const json = { headers: { 'content-type': 'application/json' }, body: '{}' }
        const answer = await inspect(service.url + withParameters(path), { method, ...(method === 'GET' ? {} : json) })
        expect(codeOf(answer), `${method} ${path}`).toBe('405 method_not_allowed')
        expect(answer.headers.get('allow')?.split(', ').sort(), `${method} ${path}`).toEqual(taken.sort())
      }
    }
  })

  test('that are wrong are refused before body and key are checked', async () => {
    const answer = await inspect(`${service.url}/chatappbusiness/fetchmessageinfo`, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain' },
      body: 'x'.repeat(300_000),
    })
    expect(answer.status).toBe(405)
  })

  test('HEAD is answered like GET, without a body', async () => {
    for (const path of ['/healthz', '/readyz', '/admin/lanes', '/nowhere']) {
      const [get, head] = [await inspect(service.url + path), await inspect(service.url + path, { method: 'HEAD' })]
      expect({ status: head.status, text: head.text }, path).toEqual({ status: get.status, text: '' })
    }
  })
})

describe('an address', () => {
  test.each([
    '/nowhere',
    '/chatappbusiness',
    '/chatappbusiness/fetchmessageinfo/',
    '/ChatAppBusiness/fetchmessageinfo',
    '/chatappbusiness/fetchmessageInfo',
    '//chatappbusiness/fetchmessageinfo',
    '/chatappbusiness/getmessageinfobyid',
    '/partners/wp-gallery/manage',
    '/partners/wp-gallery/manage/folders/1/2',
    '/admin',
    '/webhooks',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/.env',
    `/${'x'.repeat(5_000)}`,
    '/<script>alert(1)</script>',
  ])('%s is 404, whatever is sent there', async (path) => {
    for (const init of [{}, { method: 'POST', body: 'x' }, { method: 'DELETE' }]) {
      const answer = await inspect(service.url + path, init)
      expect(codeOf(answer)).toBe('404 no_such_route')
      expect(answer.text.length).toBeLessThan(1_000)
    }
  })

  test('with a broken encoding is refused, and is no failure of ours', async () => {
    const bearer = { authorization: `Bearer ${keyWith('gallery')}`, 'content-type': 'application/json' }
    for (const path of ['/partners/wp-gallery/manage/folders/%E0%A4%A', '/campaigns/%', '/media/%ff/x']) {
      const answer = await inspect(service.url + path, {
        method: path.includes('folders') ? 'PUT' : 'GET',
        headers: bearer,
        ...(path.includes('folders') ? { body: '{}' } : {}),
      })
      expect([400, 404], `${path} ${answer.text}`).toContain(answer.status)
    }
  })
})

describe.each(ONE_JSON_ROUTE_OF_EACH_EDGE.map((route) => [route.name, route] as const))(
  'the body of %s',
  (_name, route) => {
    const fits = (body: string) => body.length <= route.limitBytes
    /** A route that takes little is done with a body before it has been looked into. */
    const unlessTooLarge = (body: string, code: string) => (fits(body) ? code : '413 too_large')

    test('of another type is 415, before a key in it is checked', async () => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'text/json',
        'application/jsonx',
      ]
      for (const type of types)
        expect(codeOf(await sendTo(route, { type, body: '{}' })), type).toBe('415 unsupported_media_type')
      const without = await sendTo(route, { body: Buffer.from('{}') })
      expect(codeOf(without), 'without a type').toBe('415 unsupported_media_type')
    })

    test('in another charset, or compressed, is 415', async () => {
      for (const charset of ['utf-16', 'utf-7', 'UTF-32', 'latin1', '"utf-7"', 'x']) {
        const answer = await sendTo(route, { type: `application/json; charset=${charset}`, body: '{}' })
        expect(codeOf(answer), charset).toBe('415 unsupported_media_type')
      }
      const body = gzipSync('{}')
      const zipped = await sendTo(route, { type: 'application/json', body, headers: { 'content-encoding': 'gzip' } })
      expect(codeOf(zipped)).toBe('415 unsupported_media_type')
    })

    test('that is not JSON, or not an object, is 400, before a key in it is checked', async () => {
      const wrong = [
        '{',
        '{"a":}',
        "{'a':1}",
        'null',
        '[]',
        '[{}]',
        '5',
        '"x"',
        'true',
        '\u0000',
        '{}{}',
        '{"a":1,}',
        'NaN',
      ]
      for (const body of wrong) {
        const answer = await sendTo(route, { type: 'application/json', body })
        expect(answer.status, body).toBe(400)
        expect(['invalid_json', 'invalid_body'], body).toContain(errorOf(answer).code)
      }
    })

    test('that is not UTF-8 is 400, whatever its length: no character is replaced', async () => {
      for (const rest of [0, 300_000]) {
        if (rest > route.limitBytes) continue
        const bytes = Buffer.from(`{"text":"Jos\u00e9${'x'.repeat(rest)}"}`, 'latin1')
        const answer = await sendTo(route, { type: 'application/json', body: new Blob([bytes]).stream() })
        expect(codeOf(answer)).toBe('400 invalid_json')
        expect(answer.text).toContain('The body is not valid UTF-8.')
      }
    })

    test('may be left out only where the route allows it', async () => {
      const answer = await sendTo(route, {})
      if (route.body === 'maybe') expect(UNREADABLE).not.toContain(codeIfAny(answer))
      else expect(codeOf(answer)).toBe('400 invalid_body')
    })

    test('deeper than 32 levels is 400; 32 are accepted', async () => {
      // The body itself is the first level.
      const nested = (levels: number) => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
      for (const body of [nested(33), `{"x":${'{"x":'.repeat(60)}1${'}'.repeat(60)}}`, `{"x":${'['.repeat(100_000)}`]) {
        expect(codeOf(await sendTo(route, { type: 'application/json', body }))).toBe(
          unlessTooLarge(body, '400 too_deep'),
        )
      }
      const brackets = `{"x":"${'[{'.repeat(100)}\\"[[["}`
      for (const body of [nested(32), brackets]) {
        expect(UNREADABLE).not.toContain(codeIfAny(await sendTo(route, { type: 'application/json', body })))
      }
    })

    test('larger than its limit is 413, also when its length is not given; up to the limit it is read', async () => {
      const padded = (length: number) => `{"x":"${'y'.repeat(length - 8)}"}`
      const type = 'application/json'
      const large = padded(route.limitBytes + 1)
      expect(codeOf(await sendTo(route, { type, body: large }))).toBe('413 too_large')
      const stream = new Blob([large]).stream()
      expect(codeOf(await sendTo(route, { type, body: stream }))).toBe('413 too_large')
      expect(UNREADABLE).not.toContain(codeIfAny(await sendTo(route, { type, body: padded(route.limitBytes) })))
    })

    test('with more values than the limit is 400; up to the limit they are read', async () => {
      const type = 'application/json'
      const most = route.limitBytes > 256 * 1_024 ? 200_000 : 10_000
      // The body, the list, and a value for each but the last of its elements.
      const holding = (values: number) => `{"x":[1${',1'.repeat(values - 2)}]}`
      const inText = `{"x":"${',{['.repeat(5_000)}"}`
      const members = (count: number) => `{${Array.from({ length: count }, (_, n) => `"n${n}":0`).join(',')}}`
      for (const body of [holding(most + 1), members(1_001)]) {
        expect(codeOf(await sendTo(route, { type, body }))).toBe(unlessTooLarge(body, '400 too_many_values'))
      }
      for (const body of [holding(most), inText, members(1_000)].filter(fits)) {
        expect(UNREADABLE).not.toContain(codeIfAny(await sendTo(route, { type, body })))
      }
    })

    test('may name its charset, and begin with a byte order mark', async () => {
      for (const type of [
        'application/json; charset=utf-8',
        'Application/JSON;charset=UTF-8',
        'application/json; charset="utf-8"',
      ]) {
        expect(UNREADABLE, type).not.toContain(codeIfAny(await sendTo(route, { type, body: '{}' })))
      }
      const marked = await sendTo(route, { type: 'application/json', body: '\uFEFF{}' })
      expect(UNREADABLE).not.toContain(codeIfAny(marked))
    })

    test('with names like __proto__ harms nobody', async () => {
      const body =
        '{"__proto__":{"account":1,"permissions":["admin"],"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
      expect(UNREADABLE).not.toContain(codeIfAny(await sendTo(route, { type: 'application/json', body })))
      expect(Reflect.get({}, 'polluted')).toBeUndefined()
    })
  },
)

test.each(JSON_ROUTES.map((route, place) => [route.name, route, place] as const))(
  '%s limits its body',
  async (...given) => {
    const [, route, place] = given
    const type = 'application/json'
    const large: [expected: string, Sending] = [
      '413 too_large',
      { type, body: `{"x":"${'y'.repeat(route.limitBytes)}"}` },
    ]
    const foreign: [expected: string, Sending] = ['415 unsupported_media_type', { type: 'text/plain', body: '{}' }]
    // Each edge refuses all of these, see above: the routes take turns.
    const refused: [expected: string, Sending][] = [
      ['400 invalid_json', { type, body: '{' }],
      ['400 invalid_body', { type, body: '[]' }],
      ['400 too_deep', { type, body: `{"x":${'['.repeat(32)}${']'.repeat(32)}}` }],
    ]
    const turn = refused.filter((_each, i) => i === place % refused.length)
    for (const [expected, sending] of [...turn, foreign, large])
      expect(codeOf(await sendTo(route, sending))).toBe(expected)
    expect(UNREADABLE).not.toContain(codeIfAny(await sendTo(route, { type, body: '{"__proto__":{"polluted":1}}' })))
    const leftOut = await sendTo(route, {})
    if (route.body === 'maybe') expect(UNREADABLE).not.toContain(codeIfAny(leftOut))
    else expect(codeOf(leftOut)).toBe('400 invalid_body')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  },
)

describe('the order of the checks', () => {
  const gallery = '/partners/wp-gallery/manage'
  const put = (path: string, body: unknown, key: string) =>
    inspect(`${service.url}${gallery}${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })

  test('is: route, method, body, key in the header, permission, fields, existence, system folder', async () => {
    const system = await createFolder(service.redis, tenant.account, { name: 'system', isSystem: true })
    const [good, lacking] = [keyWith('gallery'), keyWith('events')]
    const wrongName = { name: '' }
    const missing = '/folders/999999'
    expect(codeOf(await put('/nowhere', [], 'x'))).toBe('404 no_such_route')
    expect(codeOf(await put('/files', [], 'x'))).toBe('405 method_not_allowed')
    for (const key of ['x', lacking, good]) expect(codeOf(await put(missing, [], key))).toBe('400 invalid_body')
    expect(codeOf(await put(missing, wrongName, 'x'))).toBe('401 unauthorized')
    expect(codeOf(await put(missing, wrongName, lacking))).toBe('403 forbidden')
    expect(codeOf(await put(missing, wrongName, good))).toBe('400 invalid_request')
    expect(codeOf(await put('/folders/0', { name: 'x' }, good))).toBe('400 invalid_request')
    expect(codeOf(await put(missing, { name: 'x' }, good))).toBe('404 not_found')
    expect(codeOf(await put(`/folders/${system.id}`, wrongName, good))).toBe('400 invalid_request')
    expect(codeOf(await put(`/folders/${system.id}`, { name: 'x' }, good))).toBe('403 system_folder')
  })

  test('is the one documented in the description and docs/reference/http', async () => {
    const system = await createFolder(service.redis, tenant.account, { name: 'told', isSystem: true })
    const [wrong, lacking, good] = ['x', keyWith('events'), keyWith('gallery')]
    const missing = '/folders/999999'
    const large = `{"name":"${'y'.repeat(300_000)}"`
    // Each has all the faults of those after it as well, where one address can have them.
    const faults: [path: string, key: string, type: string, body: string][] = [
      ['/nowhere', wrong, 'text/plain', large],
      ['/files', wrong, 'text/plain', large],
      [missing, wrong, 'text/plain', large],
      [missing, wrong, 'application/json', large],
      [missing, wrong, 'application/json', '{"name":""'],
      [missing, wrong, 'application/json', '{"name":""}'],
      [missing, lacking, 'application/json', '{"name":""}'],
      [missing, good, 'application/json', '{"name":""}'],
      [missing, good, 'application/json', '{"name":"x"}'],
      [`/folders/${system.id}`, good, 'application/json', '{"name":"x"}'],
    ]
    const answered: number[] = []
    for (const [path, key, type, body] of faults) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': type }
      const answer = await inspect(`${service.url}${gallery}${path}`, { method: 'PUT', headers, body })
      answered.push(answer.status)
    }
    const described = [
      await (await fetch(`${service.url}/openapi.json`)).text(),
      readFileSync(new URL('../../docs/reference/http/index.md', import.meta.url), 'utf8'),
    ]
    for (const text of described) {
      const told = /(?:Order of checks|order of checks)[\s\S]*?(Address \(404\)[\s\S]*?)\. /.exec(text)?.[1] ?? ''
      const statuses = Array.from(told.matchAll(/\b[45]\d\d\b/g), ([status]) => Number(status))
      // The gallery has no fields that are 422.
      expect(statuses.filter((status) => status !== 422)).toEqual(answered)
    }
  })

  test('has the key before the whole of a body that a handler reads: files and rows', async () => {
    for (const route of DECLARED.filter(({ key, body }) => key === 'bearer' && body === 'other')) {
      if (!['POST', 'PUT'].includes(route.method)) continue
      for (const body of ['', '{', 'x'.repeat(5_000)]) {
        const answer = await sendTo(route, { type: 'text/nothing', body, headers: { authorization: 'Bearer x' } })
        expect(codeOf(answer), route.name).toBe('401 unauthorized')
      }
    }
  })

  test('has the fields before the existence of a lane, and reports faults of path and body in one answer', async () => {
    const setRate = (lane: string, body: object) =>
      inspect(`${service.url}/admin/lanes/${lane}/rate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keyWith('admin')}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect(codeOf(await setRate('999999', { rate: 0 }))).toBe('400 invalid_request')
    expect(codeOf(await setRate('999999', { rate: 1 }))).toBe('404 not_found')
    const { details } = errorOf(await setRate('x'.repeat(300), { rate: 0 }))
    expect(details.map(({ path }) => path)).toEqual(['lane', 'rate'])
  })

  test('has a key in the body after the body, and before its fields', async () => {
    const ask = (body: string) =>
      inspect(`${service.url}/chatappbusiness/fetchmessageinfo`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    expect(codeOf(await ask('[]'))).toBe('400 invalid_body')
    expect(codeOf(await ask('{"api_key":"x"}'))).toBe('401 unauthorized')
    expect(codeOf(await ask(JSON.stringify({ api_key: keyWith('events') })))).toBe('403 forbidden')
    expect(codeOf(await ask(JSON.stringify({ api_key: tenant.apiKey })))).toBe('400 invalid_request')
  })

  /** Bodies that cannot be read, each with its code. The last is of the right size as far as its headers tell. */
  const unreadable = ({ limitBytes }: DeclaredRoute) => {
    const large = `{"x":"${'y'.repeat(limitBytes)}"}`
    return [
      { type: 'text/plain', body: 'x', code: '415 unsupported_media_type' },
      { type: 'application/json', body: large, code: '413 too_large' },
      { type: 'application/json', body: '{', code: '400 invalid_json' },
      { type: 'application/json', body: new Blob([large]).stream(), code: '413 too_large' },
    ] as const
  }
  const BEARER_ROUTES = JSON_ROUTES.filter(({ key }) => key === 'bearer')

  test('has a body of the usual size before a key in the header, whether that is missing, unknown or lacks the permission', async () => {
    const usual = BEARER_ROUTES.filter(({ limitBytes }) => limitBytes <= 256 * 1_024)
    expect(usual.map(({ name }) => name)).toContain('POST /partners/wp-gallery/manage/files/bulk-move')
    for (const route of usual) {
      const lacks = PERMISSIONS.find((permission) => permission !== route.needs && permission !== 'gallery:system')
      const isFirst = ONE_OF_EACH_EDGE.has(route)
      for (const authorization of isFirst ? ['', 'Bearer x', `Bearer ${keyWith(lacks)}`] : ['Bearer x']) {
        const bodies = unreadable(route)
        for (const { code, ...sending } of isFirst ? bodies : bodies.filter(({ body }) => body === '{')) {
          expect(codeOf(await sendTo(route, { ...sending, headers: { authorization } })), route.name).toBe(code)
        }
      }
    }
  })

  test('reads no body that may be larger when the key in the header is not valid, and checks only its headers', async () => {
    const larger = BEARER_ROUTES.filter(({ limitBytes }) => limitBytes > 256 * 1_024)
    expect(larger.map(({ name }) => name)).toContain('POST /messages/batch')
    const headers = { authorization: 'Bearer x' }
    for (const route of larger) {
      const [kind, announced, ...read] = unreadable(route)
      for (const { code, ...sending } of [kind, announced])
        expect(codeOf(await sendTo(route, { ...sending, headers })), route.name).toBe(code)
      for (const { type, body } of read)
        expect(codeOf(await sendTo(route, { type, body, headers })), route.name).toBe('401 unauthorized')
    }
  })

  test('has the key before the fields, at every route', async () => {
    for (const route of DECLARED.filter(({ key }) => key !== 'none')) {
      const key = route.key === 'bearer' ? 'Bearer x' : 'x'
      const answer = await callDeclared(service.url, route, key, {
        body: { name: 5, to: [], file_ids: 'x', tags: 'x' },
      })
      expect(codeOf(answer), route.name).toBe('401 unauthorized')
    }
  })
})

describe('x-request-id', () => {
  const ask = (id: string) => inspect(`${service.url}/nowhere`, { headers: { 'x-request-id': id } })

  test.each(['a', 'order-77', 'A_b.c:d-e', '0f8fad5b-d9cb-469f-a165-70867728950e', 'x'.repeat(128)])(
    'that is valid comes back: %s',
    async (id) => {
      expect((await ask(id)).headers.get('x-request-id')).toBe(id)
    },
  )

  test.each(['', 'a b', 'x'.repeat(129), '<b>', 'a/b', 'a,b', '"x"', 'a=b', 'ä'])(
    'that is not valid is replaced: %j',
    async (id) => {
      expect((await ask(id)).headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    },
  )

  test('is new for each request without one', async () => {
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await inspect(`${service.url}/healthz`)).headers.get('x-request-id')),
    )
    expect(new Set(ids).size).toBe(50)
  })
})

describe('a client that breaks off', () => {
  test.each([
    '/chatappbusiness/fetchmessageinfo',
    '/messages/requeue',
    '/webhooks/cloud-api',
    '/partners/wp-gallery/manage/files',
  ])('in the middle of its body at %s leaves the producer as it was', async (path) => {
    const { hostname, port } = new URL(service.url)
    for (const head of ['content-length: 1000', 'transfer-encoding: chunked']) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      await new Promise((resolve) => socket.once('connect', resolve))
      const key = `authorization: Bearer ${keyWith('gallery')}`
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${key}\r\n${head}\r\n\r\n{"api`,
      )
      const ended = new Promise((resolve) => socket.once('close', resolve))
      socket.resetAndDestroy()
      await ended
    }
    await eventually(async () => (await inspect(`${service.url}/healthz`)).status === 200, 'it answers')
  })

  test.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['two lengths', 'POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc'],
    [
      'a length and chunks',
      'POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a header without end', `GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`],
  ])('or sends %s is turned away without any detail about us', async (_name, raw) => {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
    })
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.write(raw)
    await ended
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(answer).not.toMatch(/\bat \w|node_modules|\.js/)
    expect((await inspect(`${service.url}/healthz`)).status).toBe(200)
  })
})

/** Asks for the health with these headers, and reads until the connection is closed; with `hangUp` by us, once an answer comes. */
function askRaw(lines: readonly string[], { hangUp = false } = {}): Promise<string> {
  const { hostname, port } = new URL(service.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more
      if (hangUp) socket.end()
    })
    socket.on('close', () => resolve(text)).on('error', reject)
    socket.write(`${['GET /healthz HTTP/1.1', ...lines].join('\r\n')}\r\n\r\n`)
  })
}

test.each(['Host: x', 'Authorization: Bearer x', 'Content-Type: application/json', 'Idempotency-Key: b', 'HOST: y'])(
  'a request with a second %s is refused, since it is unclear which one counts',
  async (header) => {
    const once = ['Host: x', 'Authorization: Bearer x', 'Content-Type: application/json', 'Idempotency-Key: a']
    expect(await askRaw(['Connection: close', ...once])).toMatch(/^HTTP\/1\.1 200 /)
    // Ends because the connection is closed.
    const answer = await askRaw([...once, header])
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/connection: close/i)
    expect(answer).toContain('"code":"invalid_http"')
  },
)

test('a body in another transfer encoding than chunks is refused', async () => {
  const answer = await askRaw(['Host: x', 'Transfer-Encoding: gzip, chunked'], { hangUp: true })
  expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"invalid_http"/)
})

test('a request without a Host is refused in the usual error envelope, and so is one with too many headers', async () => {
  const ask = (lines: readonly string[]) => askRaw(['Connection: close', ...lines])
  const bare = await ask([])
  expect(bare).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"invalid_http"/)
  expect(bare).toMatch(/\r\nx-request-id: /)
  // Node drops what is beyond its own limit, and so a Host that comes last.
  const many = await ask([...Array.from({ length: 120 }, (_, place) => `x-${place}: 1`), 'Host: x'])
  // From Node 26 on its parser refuses them, and does not say which of its limits they met.
  expect(many).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"(too_many_headers|headers_too_large)"/)
  expect(await ask(['Host: x'])).toMatch(/^HTTP\/1\.1 200 /)
})
