// Pins: over TLS, by HTTP/1.1 and by HTTP/2, a call says `never_left` only when the provider cannot have the request, is
// never repeated, and never reaches a server whose certificate is not trusted. Real: TLS, certificates, HTTP/2.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants } from 'node:http2'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Asked as AskedConnection, createHttpAgent, type HttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { createConnection } from '../../src/providers/http-connection.ts'
import { createRandom } from '../prove/random.ts'
import { startProxy } from '../prove/tcp-proxy.ts'
import { OUT_OF_TIME } from '../support/call-ends.ts'
import { takePort } from '../support/processes.ts'
import { httpAnswer } from '../support/tcp-server.ts'
import { type Asked, type AskedStream, startTlsProvider, type TlsProvider } from '../support/tls-provider.ts'
import { eventually } from '../support/wait.ts'
import { makeCertificate } from '../testbed/certificate.ts'
import { listen } from '../testbed/free-port.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-provider-tls-'))
const certificate = makeCertificate(dir)
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Behaviour = Parameters<typeof startTlsProvider>[1]

const startProvider = (behave: Behaviour): Promise<TlsProvider> => startTlsProvider(certificate, behave)

let agent: HttpAgent
let provider: TlsProvider | undefined
const { NODE_TLS_REJECT_UNAUTHORIZED: asItWas = '1' } = process.env
beforeEach(() => {
  agent = createHttpAgent()
  // As a certificate that is trusted.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
})
afterEach(async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = asItWas
  agent.destroy()
  await provider?.close()
  provider = undefined
})

/** Ends what hangs. */
const LIMIT_MS = 300_000
const post = ({ url }: TlsProvider, n = 1, timeoutMs = LIMIT_MS): Promise<HttpEnd> =>
  postJson(agent, url, {}, { n }, timeoutMs)

/**
 * How a call ends that nobody answers. Of one whose time was over before it could leave, as where this process stood still,
 * it is known that it never left: then one gets more time.
 */
async function unanswered({ url }: Pick<TlsProvider, 'url'>, n: number, timeoutMs: number): Promise<HttpEnd> {
  for (let limitMs = timeoutMs; ; limitMs *= 5) {
    const end = await postJson(agent, url, {}, { n }, limitMs)
    if (end.kind !== 'never_left' || limitMs > 60_000) return end
  }
}
/** By HTTP/1.1. */
const OK = httpAnswer(200, '{"x":"ä"}')
const DONE = { kind: 'answer', status: 200, body: '{"x":"ä"}', retryAfterMs: undefined }

/** Blocks this whole process, timers included, as SIGSTOP would. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const answer = ({ stream }: AskedStream): void => {
  stream.respond({ ':status': 200, 'content-type': 'application/json' })
  stream.end('{"x":"ä"}')
}

/** Calls over one connection of HTTP/2, which two others have opened. */
async function overHttp2(behave: (asked: AskedStream) => void, calls = 1): Promise<HttpEnd[]> {
  provider = await startProvider({ http2: (asked) => (asked.nth <= 2 ? answer(asked) : behave(asked)) })
  expect(await post(provider, -1)).toEqual(DONE)
  expect(await post(provider, 0)).toEqual(DONE)
  const to = provider
  return Promise.all(Array.from({ length: calls }, (_, i) => post(to, i + 1)))
}

/** Each request came at most once. */
function expectOnce(): void {
  const bodies = provider?.bodies ?? []
  expect(new Set(bodies).size).toBe(bodies.length)
}

/** Connections that the agent says it has open. */
const open = () => Object.fromEntries(agent.connections().map(({ protocol, count }) => [protocol, count]))

describe('no connection is made', () => {
  const PROTOCOLS = [['HTTP/1.1', { http1: () => {} }] as const, ['HTTP/2', { http2: () => {} }] as const]

  test.each(PROTOCOLS)('to a server of %s whose certificate is not trusted', async (_name, behave) => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '1'
    provider = await startProvider(behave)
    const end = await post(provider)
    expect(end).toEqual({ kind: 'never_left', cause: 'depth_zero_self_signed_cert' })
    expect(provider.bodies).toEqual([])
  })

  test.each(PROTOCOLS)('to a server of %s with only unsupported TLS versions', async (_name, behave) => {
    provider = await startProvider({ ...behave, tls: { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } })
    expect(await post(provider)).toMatchObject({ kind: 'never_left' })
    expect(provider.bodies).toEqual([])
  })

  test('to a server that speaks neither protocol', async () => {
    provider = await startProvider({ tls: { ALPNProtocols: ['spdy/3'] } })
    expect(await post(provider)).toMatchObject({ kind: 'never_left' })
    expect(provider.connections()).toBe(0)
  })

  test.each<[string, (socket: Socket) => void]>([
    ['resets', (socket) => socket.resetAndDestroy()],
    ['closes', (socket) => socket.destroy()],
    ['answers in plain text', (socket) => socket.end(httpAnswer(400, ''))],
  ])('to a server that %s instead of a handshake', async (_name, behave) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => behave(socket))
    })
    const url = new URL(`https://localhost:${await listen(server)}/`)
    expect(await postJson(agent, url, {}, {}, LIMIT_MS)).toMatchObject({ kind: 'never_left' })
    server.close()
  })

  test('to a port that refuses', async () => {
    const { port, release } = await takePort()
    await release()
    const end = await postJson(agent, new URL(`https://127.0.0.1:${port}/`), {}, {}, LIMIT_MS)
    expect(end).toEqual({ kind: 'never_left', cause: 'refused' })
  })

  test('to an unknown host name', async () => {
    const end = await postJson(agent, new URL(`https://${'x'.repeat(64)}.localhost/`), {}, {}, LIMIT_MS)
    expect(end).toEqual({ kind: 'never_left', cause: 'name_not_found' })
  })

  test('in time, because the handshake hangs', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}))
    const url = new URL(`https://localhost:${await listen(server)}/`)
    const ends = await Promise.all([1, 2, 3, 4, 5, 6].map(() => postJson(agent, url, {}, {}, LIMIT_MS)))
    expect(ends).toEqual(Array(6).fill({ kind: 'never_left', cause: 'connect_timeout' }))
    server.close()
  })
})

describe('by HTTP/1.1', () => {
  test('requests in a row share a connection', async () => {
    provider = await startProvider({ http1: ({ socket }) => socket.write(OK) })
    for (let i = 0; i < 3; i += 1) {
      expect(await post(provider, i)).toEqual(DONE)
    }
    expect(provider.connections()).toBe(1)
    expect(open()).toEqual({ h1: 1 })
  })

  test.each<[string, (asked: Asked) => void]>([
    ['resets the connection', ({ reset }) => reset()],
    ['closes the connection', ({ socket }) => socket.end()],
    ['closes it without a goodbye of TLS', ({ close }) => close()],
    ['says what is not TLS', ({ say }) => say('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'closes it in the middle of the answer',
      ({ socket }) => socket.end(httpAnswer(200, '', { 'content-length': '9' })),
    ],
  ])('a request is in doubt, and not repeated, when the server %s', async (_name, behave) => {
    provider = await startProvider({ http1: behave })
    const ends = [await post(provider), await post(provider, 2)]
    expect(ends).toMatchObject([{ kind: 'unanswered' }, { kind: 'unanswered' }])
    // Not only when its time is over.
    expect(ends).not.toContainEqual(expect.objectContaining({ cause: 'timeout' }))
    expect(provider.bodies).toEqual(['{"n":1}', '{"n":2}'])
  })

  test('an accepted request that is never answered is in doubt when its time is over', async () => {
    provider = await startProvider({ http1: ({ socket, nth }) => nth === 1 && socket.write(OK) })
    expect(await post(provider, 0)).toEqual(DONE)
    expect(await unanswered(provider, 1, 200)).toEqual(OUT_OF_TIME)
    expect(provider.bodies).toEqual(['{"n":0}', '{"n":1}'])
  })

  test('a request held back by undici until it has checked its connection has not been sent', async () => {
    provider = await startProvider({ http1: ({ socket }) => socket.write(OK) })
    expect(await post(provider)).toEqual(DONE)
    const held = post(provider, 2)
    // Behind what gives it to undici, in the same turn.
    setImmediate(() => agent.destroy())
    expect(await held).toMatchObject({ kind: 'never_left' })
    expect(provider.bodies).toEqual(['{"n":1}'])
  })

  test('a connection that the server closes after its answer is not used again, and puts no request in doubt', async () => {
    provider = await startProvider({ http1: ({ socket }) => socket.end(OK) })
    for (let n = 0; n < 50; n += 1) expect(await post(provider, n)).toEqual(DONE)
    expectOnce()
  })
})

describe('by HTTP/2', () => {
  test('simultaneous requests share a connection once the provider has shown that it speaks HTTP/2', async () => {
    const waiting: AskedStream[] = []
    const ends = overHttp2((asked) => {
      waiting.push(asked)
      if (waiting.length === 20) for (const each of waiting) answer(each)
    }, 20)
    expect(await ends).toEqual(Array(20).fill(DONE))
    expect(provider?.connections()).toBe(1)
    expect(open()).toEqual({ h2: 1 })
    expectOnce()
  })

  test('a stream that the server refused has not been sent', async () => {
    const ends = await overHttp2(({ stream }) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
    expect(ends).toEqual([{ kind: 'never_left', cause: 'refused_stream' }])
  })

  test.each([
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['CANCEL', constants.NGHTTP2_CANCEL],
    ['NO_ERROR', constants.NGHTTP2_NO_ERROR],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
  ])('a stream that the server ended with %s is in doubt', async (_name, code) => {
    const ends = await overHttp2(({ stream }) => stream.close(code))
    expect(ends).toMatchObject([{ kind: 'unanswered' }])
    expectOnce()
  })

  /** The last stream that a server may name (RFC 9113, 6.8): it says nothing of those under way. */
  const LAST = 2 ** 31 - 1

  test.each([
    ['which stream is its last', (asked: AskedStream) => asked.stream.id ?? 0],
    ['that it is to end some time', () => LAST],
  ])(
    'requests under way are answered when the server sends GOAWAY and %s, and the next go over another connection',
    async (_what, lastOf) => {
      const waiting: AskedStream[] = []
      let isTold = false
      const ends = overHttp2((asked) => {
        if (waiting.push(asked) !== 20) return
        asked.session.goaway(constants.NGHTTP2_NO_ERROR, lastOf(asked))
        // Answered behind it: a request that leaves before may still come over this connection.
        asked.session.ping(() => {
          isTold = true
        })
      }, 20)
      await eventually(async () => isTold, 'that the client has read it')
      const to = provider
      if (to === undefined) throw new Error('no provider')
      const next = eventually(async () => (await post(to, 100)).kind === 'answer', 'the next connection')
      await eventually(async () => to.connections() === 2, 'the next connection')
      await eventually(async () => waiting.length === 21, 'its request')
      for (const asked of waiting.slice(0, 20)) answer(asked)
      expect(await ends).toEqual(Array(20).fill(DONE))
      for (const asked of waiting.slice(20)) answer(asked)
      await next
      await eventually(async () => open().h2 === 1, 'the end of the first connection')
      expectOnce()
    },
  )

  test('requests under way are answered when the server announces its end twice, and finally closes', async () => {
    const waiting: AskedStream[] = []
    const ends = overHttp2((asked) => {
      if (waiting.push(asked) < 10) return
      asked.session.goaway(constants.NGHTTP2_NO_ERROR, LAST)
      asked.session.ping(() => {
        asked.session.goaway(constants.NGHTTP2_NO_ERROR, asked.stream.id ?? 0)
        for (const each of waiting) answer(each)
        asked.session.close()
      })
    }, 10)
    expect(await ends).toEqual(Array(10).fill(DONE))
    expectOnce()
  })

  test('a request above the last stream of a GOAWAY is in doubt, and those below are answered', async () => {
    const waiting: AskedStream[] = []
    const ends = await overHttp2((asked) => {
      if (waiting.push(asked) < 3) return
      // All three came, as when a server goes on for a moment after it has named its last stream.
      asked.session.goaway(constants.NGHTTP2_NO_ERROR, (asked.stream.id ?? 0) - 2)
      for (const each of waiting) answer(each)
    }, 3)
    expect(ends).toEqual([DONE, DONE, { kind: 'unanswered', cause: 'reset' }])
    expectOnce()
  })

  test.each([
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR],
    ['ENHANCE_YOUR_CALM', constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ['REFUSED_STREAM', constants.NGHTTP2_REFUSED_STREAM],
  ])('all requests under way are in doubt when the server sends GOAWAY with %s', async (_name, code) => {
    const ends = await overHttp2((asked) => asked.nth === 5 && asked.session.goaway(code, 1), 3)
    expect(ends).toEqual(Array(3).fill({ kind: 'unanswered', cause: expect.any(String) }))
    expect(ends).not.toContainEqual(expect.objectContaining({ cause: 'timeout' }))
    expectOnce()
  })

  test('requests waiting for a stream when the server sends GOAWAY have not been sent', async () => {
    const waiting: AskedStream[] = []
    const to = await startTlsProvider(certificate, {
      settings: { maxConcurrentStreams: 2 },
      http2(asked) {
        if (waiting.push(asked) < 2) return
        asked.session.goaway(constants.NGHTTP2_NO_ERROR, LAST)
        asked.session.ping(() => waiting.forEach(answer))
      },
    })
    provider = to
    // All at once, over connections that do not know yet how many streams they may have.
    const ends = await Promise.all(Array.from({ length: 20 }, (_, n) => post(to, n)))
    for (const [n, { kind }] of ends.entries()) {
      expect([n, kind]).toEqual([n, to.bodies.includes(JSON.stringify({ n })) ? 'answer' : 'never_left'])
    }
    expect(ends).toContainEqual({ kind: 'never_left', cause: 'refused_stream' })
    expectOnce()
  })

  test('a server that accepts few streams at once gets no more, and every request is answered', async () => {
    let together = 0
    let most = 0
    const to = await startTlsProvider(certificate, {
      settings: { maxConcurrentStreams: 3 },
      http2(asked) {
        together += 1
        most = Math.max(most, together)
        setImmediate(() => {
          together -= 1
          answer(asked)
        })
      },
    })
    provider = to
    expect(await post(to, -1)).toEqual(DONE)
    const ends = await Promise.all(Array.from({ length: 60 }, (_, n) => post(to, n)))
    expect(ends).toEqual(Array(60).fill(DONE))
    // Those that wait do so here, where another connection may take them.
    expect(to.connections()).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(3 * to.connections())
    expectOnce()
  })

  const ENDS: [string, (asked: AskedStream) => void][] = [
    ['resets the connection', ({ reset }) => reset()],
    ['closes the connection', ({ socket }) => socket.end()],
    ['closes it without a goodbye of TLS', ({ close }) => close()],
    ['ends the session', ({ session }) => session.destroy()],
    ['ends the session with an error', ({ session }) => session.destroy(undefined, constants.NGHTTP2_INTERNAL_ERROR)],
    ['says GOAWAY with an error', ({ session }) => session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
    ['says what is not TLS', ({ say }) => say('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ]

  test.each<[string, (asked: AskedStream) => void]>([
    ...ENDS,
    [
      'breaks off in the middle of the answer',
      ({ stream, socket }) => {
        stream.respond({ ':status': 200 })
        stream.write('{"x":')
        setImmediate(() => socket.destroy())
      },
    ],
  ])('requests under way are in doubt, and none is repeated, when the server %s', async (_name, behave) => {
    const ends = await overHttp2((asked) => asked.nth === 7 && behave(asked), 5)
    expect(new Set(ends.map(({ kind }) => kind))).toEqual(new Set(['unanswered']))
    const to = provider
    if (to === undefined) throw new Error('no provider')
    // Whatever was to be repeated would come over the next connection.
    const next = [100, 101, 102].map((n) => unanswered(to, n, 1_000))
    expect(await Promise.all(next)).toEqual(Array(3).fill(OUT_OF_TIME))
    expect(to.bodies).toContain('{"n":101}')
    expectOnce()
  })

  test.each<[string, (asked: AskedStream) => void]>([...ENDS, ['says GOAWAY', ({ session }) => session.goaway()]])(
    'the next requests go over another connection when on one without requests the server %s',
    async (_name, behave) => {
      const asked: AskedStream[] = []
      const to = await startProvider({
        http2(each) {
          asked.push(each)
          answer(each)
        },
      })
      provider = to
      expect(await post(to, 0)).toEqual(DONE)
      for (const each of asked) behave(each)
      await eventually(async () => agent.connections().length === 0, 'the end of the connection')
      expect(await Promise.all([1, 2, 3].map((n) => post(to, n)))).toEqual(Array(3).fill(DONE))
      expect(to.connections()).toBe(2)
      expectOnce()
    },
  )

  test('a request to a server that announces HTTP/2 and does not speak it is in doubt', async () => {
    const { key, cert } = certificate
    const server = createServer({ key, cert, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(httpAnswer(400, '')))
    })
    const url = new URL(`https://localhost:${await listen(server)}/`)
    expect(await postJson(agent, url, {}, {}, 5_000)).toMatchObject({ kind: 'unanswered' })
    expect(await postJson(agent, url, {}, {}, 5_000)).toMatchObject({ kind: 'unanswered' })
    server.close()
  })

  test('a socket that closes without an error ends its requests, and nothing else', async () => {
    const to = await startProvider({ http2: () => {} })
    provider = to
    const socket = connect({ host: 'localhost', port: Number(to.url.port), ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    const connection = createConnection(to.url.origin, socket, 100, { takes() {}, free() {}, gone() {} })
    const asked = new AskedConnection(to.url)
    connection.take()
    asked.give(connection)
    const end = postJson({ ask: () => asked }, to.url, {}, {}, 5_000)
    await eventually(async () => to.bodies.length === 1, 'the request')
    // An error that nobody catches would end the process: Vitest reports it.
    socket.destroy()
    expect(await end).toMatchObject({ kind: 'unanswered' })
  })

  test('a connection is retired after a number of requests, before the server puts those under way in doubt', async () => {
    const to = await startProvider({ http2: answer })
    provider = to
    expect(await post(to, -1)).toEqual(DONE)
    for (let n = 0; n < 20; n += 1) {
      expect(await Promise.all(Array.from({ length: 50 }, (_, i) => post(to, n * 50 + i)))).toEqual(
        Array(50).fill(DONE),
      )
    }
    expect(to.connections()).toBe(2)
    await eventually(async () => open().h2 === 1, 'the end of the first connection')
    expectOnce()
  })

  test('the next connection is opened before the current one is full, so that no request waits for it', async () => {
    const waiting: AskedStream[] = []
    const to = await startProvider({ http2: (asked) => (asked.nth === 1 ? answer(asked) : waiting.push(asked)) })
    provider = to
    expect(await post(to, -1)).toEqual(DONE)
    const ends = Array.from({ length: 75 }, (_, i) => post(to, i))
    await eventually(async () => waiting.length === 75, 'the requests')
    expect(to.connections()).toBe(1)
    ends.push(post(to, 75))
    await eventually(async () => open().h2 === 2, 'the next connection')
    await eventually(async () => to.connections() === 2, 'that the server knows of it')
    for (const each of waiting) answer(each)
    await eventually(async () => waiting.length === 76, 'the last request')
    for (const each of waiting.slice(75)) if (!each.stream.headersSent) answer(each)
    expect(await Promise.all(ends)).toEqual(Array(76).fill(DONE))
  })

  test('a connection with a request not answered in time gets no more, and answers the others', async () => {
    let late: AskedStream | undefined
    const to = await startProvider({
      http2(asked) {
        const body = to.bodies.at(-1)
        if (body === '{"n":1}') return
        if (body === '{"n":2}') late = asked
        else answer(asked)
      },
    })
    provider = to
    expect(await post(to, 0)).toEqual(DONE)
    const waiting = post(to, 2)
    expect(await unanswered(to, 1, 200)).toEqual(OUT_OF_TIME)
    expect(await post(to, 3)).toEqual(DONE)
    expect(to.connections()).toBe(2)
    if (late) answer(late)
    expect(await waiting).toEqual(DONE)
    await eventually(async () => open().h2 === 1, 'the end of the first connection')
  })

  test('an answer that is too large, or shorter than announced, does not count', async () => {
    const to = await startProvider({
      http2({ stream, nth }) {
        stream.respond({
          ':status': 200,
          ...(nth === 1 && { 'content-length': 400_000 }),
          ...(nth === 3 && { 'content-length': 9 }),
        })
        if (nth === 2) stream.end('x'.repeat(400_000))
        else stream.write('{"x":1}', () => stream.close(constants.NGHTTP2_NO_ERROR))
      },
    })
    provider = to
    const ends = [await post(to, 1), await post(to, 2), await post(to, 3)]
    expect(ends.map((end) => (end.kind === 'unanswered' ? end.cause : end))).toEqual([
      ...['answer_too_large', 'answer_too_large'],
      expect.any(String),
    ])
  })

  test('an accepted request that is never answered is in doubt when its time is over', async () => {
    provider = await startProvider({ http2: (asked) => asked.nth === 1 && answer(asked) })
    expect(await post(provider, 0)).toEqual(DONE)
    expect(await unanswered(provider, 1, 200)).toEqual(OUT_OF_TIME)
    expectOnce()
  })

  test('of many requests to a server that ends streams and connections at random, none arrives twice and none that was processed is reported as unsent', async () => {
    const processed = new Set<string>()
    const to = await startProvider({
      http2: (asked) => {
        const { body, nth } = asked
        if (nth % 11 === 3) return asked.stream.close(constants.NGHTTP2_REFUSED_STREAM)
        processed.add(body)
        if (asked.stream.destroyed || asked.session.destroyed) return
        // Seldom: what is under way besides ends with it.
        if (nth % 53 === 5) return asked.reset()
        if (nth % 53 === 27) return asked.session.goaway()
        if (nth % 11 === 9) return asked.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
        answer(asked)
      },
    })
    provider = to
    const rest = Array.from({ length: 400 }, (_, i) => i).values()
    const ends = new Map<number, HttpEnd>()
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        // Some are never answered.
        for (const n of rest) ends.set(n, await post(to, n, 5_000))
      }),
    )
    expectOnce()
    for (const [n, end] of ends) {
      const isProcessed = processed.has(JSON.stringify({ n }))
      if (end.kind === 'never_left') expect(isProcessed, `${n}`).toBe(false)
      if (end.kind === 'answer') expect(isProcessed, `${n}`).toBe(true)
    }
    expect(new Set([...ends.values()].map(({ kind }) => kind))).toEqual(new Set(['answer', 'never_left', 'unanswered']))
  })
})

/** The time of the call is a little shorter: long enough for an answer to be written on a machine that stands still before. */
const STILL_MS = 5_400

test.each<[string, Behaviour]>([
  [
    'HTTP/1.1',
    {
      http1({ socket, nth }) {
        socket.write(OK)
        if (nth > 1) standStill(STILL_MS)
      },
    },
  ],
  [
    'HTTP/2',
    {
      http2(asked) {
        answer(asked)
        // Behind what writes it.
        if (asked.nth > 1) setImmediate(standStill, STILL_MS)
      },
    },
  ],
])(
  'an answer by %s that came in time counts, though the process stalled until its time was over',
  async (_name, behave) => {
    provider = await startProvider(behave)
    expect(await post(provider, 0)).toEqual(DONE)
    expect(await post(provider, 1, STILL_MS - 400)).toEqual(DONE)
  },
)

test.each<[string, Behaviour, number]>([
  ['HTTP/1.1', { http1: ({ socket }) => socket.write(OK) }, 1],
  ['HTTP/2', { http2: answer }, 3],
])(
  'requests over a half-open connection of %s are in doubt, and the next go over another one',
  async (_name, behave, count) => {
    const to = await startProvider(behave)
    provider = to
    const line = await startProxy(() => to.port, createRandom(1, 'line'))
    const url = new URL(`https://localhost:${line.port}/`)
    expect(await postJson(agent, url, {}, { n: 0 }, LIMIT_MS)).toEqual(DONE)
    line.freezeAll()
    const frozen = Array.from({ length: count }, (_, i) => unanswered({ url }, i + 1, 300))
    expect(await Promise.all(frozen)).toEqual(Array(count).fill(OUT_OF_TIME))
    expect(await postJson(agent, url, {}, { n: -1 }, LIMIT_MS)).toEqual(DONE)
    expect(to.bodies).toEqual(['{"n":0}', '{"n":-1}'])
    await line.close()
  },
)

test('requests whose slots are over by the time of the first connection open no more of them', async () => {
  const to = await startProvider({ http1: ({ socket }) => socket.write(OK) })
  provider = to
  const departure = { leaveBy: performance.now(), left: () => {} }
  const late = Array.from({ length: 50 }, () => postJson(agent, to.url, {}, {}, LIMIT_MS, departure))
  expect(new Set((await Promise.all(late)).map((end) => 'cause' in end && end.cause))).toEqual(new Set(['missed_slot']))
  // Behind all that were being opened.
  expect(await post(to)).toEqual(DONE)
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(to.connections()).toBeLessThan(10)
})
