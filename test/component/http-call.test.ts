// Pins: a call to a provider never hangs, is never repeated, and says `never_left` only when no byte of the request can
// have left. Real: TCP, and servers that misbehave in every way.
import type { Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createHttpAgent, type HttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { OUT_OF_TIME } from '../support/call-ends.ts'
import { takePort } from '../support/processes.ts'
import { httpAnswer, onRequest, startTcpServer, type TcpServer } from '../support/tcp-server.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

let agent: ReturnType<typeof createHttpAgent>
beforeAll(() => {
  agent = createHttpAgent()
})
afterAll(() => agent.destroy())

const post = (url: string, body: object = { id: 'the-message' }, timeoutMs = 60_000): Promise<HttpEnd> =>
  postJson(agent, new URL(url), { authorization: 'Bearer x' }, body, timeoutMs)

/**
 * How a call with a short time ends once its request has left. Where this process stood still until its time was over
 * before that, it never left, which says nothing about answers: it is made again.
 */
async function postedInTime(url: string, body: object, timeoutMs: number): Promise<HttpEnd> {
  for (;;) {
    let hasLeft = false
    const left = () => {
      hasLeft = true
    }
    const at = { leaveBy: Number.POSITIVE_INFINITY, left }
    const end = await postJson(agent, new URL(url), { authorization: 'Bearer x' }, body, timeoutMs, at)
    if (hasLeft) return end
    expect(end).toEqual({ ...OUT_OF_TIME, kind: 'never_left' })
  }
}

/** Blocks this whole process, timers included, as SIGSTOP would. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** The connections of a process that is stopped while it connects, and hears of the connection when it is woken up late. */
const frozen: Pick<HttpAgent, 'ask'> = {
  ask(url) {
    const asked = agent.ask(url)
    const given = asked.given.then((connection) => {
      standStill(100)
      return connection
    })
    return Object.assign(asked, { given })
  },
}

/** Runs one call against a server that behaves like this. */
async function against(
  behave: Parameters<typeof startTcpServer>[0],
  call: (server: TcpServer) => Promise<HttpEnd> = (server) => post(server.url),
): Promise<{ end: HttpEnd; server: TcpServer }> {
  const server = await startTcpServer(behave)
  try {
    return { end: await call(server), server }
  } finally {
    await server.close()
  }
}

describe('a request never left', () => {
  test('when the port refuses', async () => {
    const { port, release } = await takePort()
    await release()
    expect(await post(`http://127.0.0.1:${port}/`)).toEqual({ kind: 'never_left', cause: 'refused' })
  })

  test('when the name cannot be resolved', async () => {
    // A label above 63 characters is refused before anybody is asked.
    expect(await post(`http://${'x'.repeat(64)}.localhost/`)).toEqual({ kind: 'never_left', cause: 'name_not_found' })
  })

  test('when a plain port answers the TLS handshake with text', async () => {
    const { end } = await against(
      (socket) => socket.end(httpAnswer(400, 'This is a plain port.')),
      ({ port }) => post(`https://127.0.0.1:${port}/`),
    )
    expect(end.kind).toBe('never_left')
  })

  test('when the TLS handshake is refused', async () => {
    const server = createTlsServer({})
    server.on('tlsClientError', () => {})
    const port = await listen(server)
    expect((await post(`https://127.0.0.1:${port}/`)).kind).toBe('never_left')
    server.close()
  })

  test('when the time for the whole call ends before the connection is open', async () => {
    const { end } = await against(
      () => {},
      ({ port }) => post(`https://127.0.0.1:${port}/`, {}, 100),
    )
    expect(end).toEqual({ ...OUT_OF_TIME, kind: 'never_left' })
  })

  test('when the process was frozen until its time was over, and nothing leaves later', async () => {
    const { end, server } = await against(
      (socket) => onRequest(socket, () => socket.write(httpAnswer(200, '{}'))),
      async ({ url, connections }) => {
        const ended = await postJson(frozen, new URL(url), {}, { id: 'the-message' }, 50)
        await eventually(async () => connections() === 1, 'the connection')
        // It goes over the same connection: whatever had been written to that would have come before.
        expect((await post(url, { id: 'the next' })).kind).toBe('answer')
        expect(connections()).toBe(1)
        return ended
      },
    )
    // On a busy machine its time may be over before there is a connection at all.
    expect(end).toEqual({ ...OUT_OF_TIME, kind: 'never_left' })
    expect(server.received().match(/POST/g)).toHaveLength(1)
    expect(server.received()).toContain('the next')
  })

  test('when the connection opens after the time to leave, and the connection is kept for the next request', async () => {
    const own = createHttpAgent()
    const { end, server } = await against(
      (socket) => onRequest(socket, () => socket.write(httpAnswer(200, '{}'))),
      async ({ url, connections }) => {
        const call = (leaveBy: number) =>
          postJson(own, new URL(url), {}, { id: 'the-message' }, 60_000, { leaveBy, left: () => {} })
        const late = await call(performance.now())
        await eventually(async () => connections() === 1, 'the connection')
        expect((await call(performance.now() + 60_000)).kind).toBe('answer')
        expect(connections()).toBe(1)
        return late
      },
    )
    own.destroy()
    expect(end).toEqual({ kind: 'never_left', cause: 'missed_slot' })
    expect(server.received().match(/POST/g)).toHaveLength(1)
  })

  test.each([
    ['its time', 60_000, Number.POSITIVE_INFINITY, 'timeout'],
    ['its time to leave', 600_000, 60_000, 'missed_slot'],
    ['both', 60_000, 60_000, 'missed_slot'],
  ])(
    'when the machine was suspended until %s was over, which no timer counts',
    async (_which, timeoutMs, leaveMs, cause) => {
      const own = createHttpAgent()
      const real = Date.now
      const { end, server } = await against(
        (socket) => onRequest(socket, () => socket.write(httpAnswer(200, '{}'))),
        async ({ url }) => {
          const ended = postJson(own, new URL(url), {}, { id: 'the-message' }, timeoutMs, {
            leaveBy: performance.now() + leaveMs,
            left: () => {},
          })
          vi.spyOn(Date, 'now').mockImplementation(() => real() + 120_000)
          return ended.finally(() => vi.restoreAllMocks())
        },
      )
      own.destroy()
      expect(end).toEqual({ kind: 'never_left', cause })
      expect(server.received()).toBe('')
    },
  )

  test('when the token cannot be written in a header', async () => {
    const { end, server } = await against(
      (socket) => onRequest(socket, () => socket.end(httpAnswer(200, '{}'))),
      ({ url }) => postJson(agent, new URL(url), { authorization: 'Bearer a\nb' }, {}, 5_000),
    )
    expect(end.kind).toBe('never_left')
    expect(server.received()).toBe('')
  })
})

const drip = (text: string) => (socket: Socket) =>
  onRequest(socket, () => {
    const bytes = [...text]
    const timer = setInterval(() => {
      const byte = bytes.shift()
      if (byte === undefined) clearInterval(timer)
      else socket.write(byte)
    }, 20)
    socket.on('close', () => clearInterval(timer))
  })

describe('a request is unanswered', () => {
  test.each<[string, Parameters<typeof startTcpServer>[0], string | undefined]>([
    [
      'the connection is reset after the request',
      (socket) => onRequest(socket, () => socket.resetAndDestroy()),
      'reset',
    ],
    ['the connection is closed after the request', (socket) => onRequest(socket, () => socket.end()), 'reset'],
    [
      'the connection is reset at the first byte',
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      'reset',
    ],
    [
      'the answer ends in the middle of its head',
      (socket) => onRequest(socket, () => socket.end('HTTP/1.1 200 OK\r\ncontent-le')),
      undefined,
    ],
    [
      'the answer is shorter than it says',
      (socket) => onRequest(socket, () => socket.end(httpAnswer(200, '{"messages":', { 'content-length': '500' }))),
      undefined,
    ],
    [
      'the answer is cut in the middle of a chunk',
      (socket) =>
        onRequest(socket, () => socket.end('HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n64\r\n{"mess')),
      undefined,
    ],
    [
      'the answer is not HTTP',
      (socket) => onRequest(socket, () => socket.end('220 smtp.example ESMTP\r\n')),
      undefined,
    ],
    [
      'the head of the answer is endless',
      (socket) => onRequest(socket, () => socket.write(httpAnswer(200, '{}', { x: 'y'.repeat(100_000) }))),
      undefined,
    ],
    [
      'the answer is huge',
      (socket) => onRequest(socket, () => socket.end(httpAnswer(200, `{"x":"${'y'.repeat(3_000_000)}"}`))),
      'answer_too_large',
    ],
  ])('when %s', async (_name, behave, cause) => {
    const { end, server } = await against(behave)
    expect(end.kind).toBe('unanswered')
    if (cause !== undefined) expect(end).toMatchObject({ cause })
    expect(server.connections()).toBe(1)
  })

  test('when the answer never ends', async () => {
    const { end } = await against((socket) =>
      onRequest(socket, () => {
        socket.write('HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n')
        const more = () => void (socket.writable && socket.write(`1000\r\n${'y'.repeat(4_096)}\r\n`, more))
        more()
      }),
    )
    expect(end).toEqual({ kind: 'unanswered', cause: 'answer_too_large' })
  })
})

describe('an answer', () => {
  test('counts when it came in time, though the process stalled until its time was over', async () => {
    const { end } = await against(
      (socket) =>
        onRequest(socket, () => {
          socket.write(httpAnswer(200, '{"x":1}'))
          standStill(300)
        }),
      ({ url }) => postedInTime(url, {}, 200),
    )
    expect(end).toMatchObject({ kind: 'answer', status: 200, body: '{"x":1}' })
  })

  test('counts when it comes soon after the process stalled past its time', async () => {
    const { end } = await against(
      (socket) =>
        onRequest(socket, () => {
          standStill(500)
          setTimeout(() => socket.write(httpAnswer(200, '{"x":1}')), 100)
        }),
      ({ url }) => postedInTime(url, {}, 300),
    )
    expect(end).toMatchObject({ kind: 'answer', status: 200, body: '{"x":1}' })
  })

  test('whose rest is missing when the process goes on is not blamed on the provider', async () => {
    const { end } = await against(
      (socket) =>
        onRequest(socket, () => {
          socket.write(httpAnswer(200, '{"x":1}').slice(0, -1))
          standStill(500)
        }),
      ({ url }) => postedInTime(url, {}, 200),
    )
    expect(end).toEqual({ kind: 'unanswered', cause: 'worker_late' })
  })

  const answering = (text: string) => (socket: Socket) => onRequest(socket, () => socket.end(text))

  test.each([200, 204, 400, 404, 429, 500, 503])('%i is returned with its body', async (status) => {
    const body = status === 204 ? '' : '{"x":1}'
    const { end } = await against(answering(httpAnswer(status, body)))
    expect(end).toEqual({ kind: 'answer', status, body, retryAfterMs: undefined })
  })

  test('that redirects is not followed', async () => {
    const { end, server } = await against((socket) =>
      onRequest(socket, () => socket.end(httpAnswer(302, '', { location: '/elsewhere' }))),
    )
    expect(end).toMatchObject({ kind: 'answer', status: 302 })
    expect(server.connections()).toBe(1)
  })

  test('after early hints is the one that counts', async () => {
    const { end } = await against(answering(`HTTP/1.1 103 X\r\nlink: </x>\r\n\r\n${httpAnswer(200, '{}')}`))
    expect(end).toMatchObject({ status: 200, body: '{}' })
  })

  test.each<[string, (ms: number | undefined) => boolean]>([
    ['7', (ms) => ms === 7_000],
    ['0', (ms) => ms === 0],
    ['1.5', (ms) => ms === 1_500],
    ['soon', (ms) => ms === undefined],
    [new Date(Date.now() + 3_600_000).toUTCString(), (ms) => ms !== undefined && ms > 3_000_000 && ms <= 3_600_000],
    [new Date(Date.now() - 60_000).toUTCString(), (ms) => ms === 0],
  ])('with Retry-After: %s', async (header, isRight) => {
    const { end } = await against(answering(httpAnswer(429, '', { 'retry-after': header })))
    const ms = end.kind === 'answer' ? end.retryAfterMs : -1
    expect(isRight(ms), String(ms)).toBe(true)
  })

  test.each([
    ['an hour behind ours', new Date(Date.now() - 3_600_000).toUTCString(), (ms: number) => ms === 90_000],
    ['an hour ahead of ours', new Date(Date.now() + 3_600_000).toUTCString(), (ms: number) => ms === 90_000],
    ['not told in a way that can be read', 'today', (ms: number) => Math.abs(ms - 90_000) < 60_000],
  ])('with a Retry-After as a date by a clock that is %s', async (_name, date, isRight) => {
    const now = Number.isNaN(Date.parse(date)) ? Date.now() : Date.parse(date)
    const headers = { date, 'retry-after': new Date(now + 90_000).toUTCString() }
    const { end } = await against(answering(httpAnswer(429, '', headers)))
    const ms = end.kind === 'answer' ? (end.retryAfterMs ?? -1) : -1
    expect(isRight(ms), String(ms)).toBe(true)
  })
})

describe.concurrent('a call', () => {
  test('never leaves when the TLS handshake hangs until connecting times out', async () => {
    const { end } = await against(
      () => {},
      ({ port }) => post(`https://127.0.0.1:${port}/`, {}, 20_000),
    )
    expect(end).toEqual({ kind: 'never_left', cause: 'connect_timeout' })
  })

  test.each<[string, Parameters<typeof startTcpServer>[0]]>([
    ['hangs', (socket) => onRequest(socket, () => {})],
    [
      'hangs after the head',
      (socket) => onRequest(socket, () => socket.write(httpAnswer(200, '', { 'content-length': '9' }))),
    ],
    ['drips its head', drip(`HTTP/1.1 200 X\r\nx: ${'y'.repeat(5_000)}`)],
    ['drips its body', drip(httpAnswer(200, 'y'.repeat(5_000)))],
    ['does not read', (socket) => socket.pause()],
  ])('ends unanswered within its time when the server %s', async (_name, behave) => {
    const { end } = await against(behave, ({ url }) => postedInTime(url, { id: 'x'.repeat(200_000) }, 400))
    expect(end).toEqual(OUT_OF_TIME)
  })

  test('that was answered leaves its connection open when its time ends', async () => {
    let asked = 0
    const server = await startTcpServer((socket) =>
      onRequest(socket, () => {
        asked += 1
        // The first is answered at once, the second one when the time of the first is over.
        setTimeout(() => socket.write(httpAnswer(200, '{}')), asked === 1 ? 0 : 1_000)
      }),
    )
    expect(await postedInTime(server.url, {}, 500)).toMatchObject({ kind: 'answer' })
    expect(await post(server.url)).toMatchObject({ kind: 'answer' })
    expect(server.connections()).toBe(1)
    await server.close()
  })
})

test('a call whose time is over ends its connection, which is not used again', async () => {
  let closed = 0
  const server = await startTcpServer((socket) => {
    socket.resume().once('close', () => {
      closed += 1
    })
  })
  expect(await postedInTime(server.url, {}, 100)).toEqual(OUT_OF_TIME)
  await eventually(async () => closed === 1, 'the end of the connection')
  await server.close()
})

test('of many calls to a server that closes at random, none is repeated and none that left is reported as unsent', async () => {
  const ways = ['answer', 'answer and close', 'answer and reset', 'reset', 'close', 'reset at once'] as const
  let turn = 0
  const seen: string[] = []
  const server = await startTcpServer((socket) => {
    turn += 1
    if (turn % 7 === 0) return socket.resetAndDestroy()
    onRequest(socket, (request) => {
      turn += 1
      seen.push(/"id":"(\d+)"/.exec(request)?.[1] ?? 'none')
      const way = ways[turn % ways.length]
      if (way?.startsWith('answer')) socket.write(httpAnswer(200, '{}'))
      if (way?.endsWith('close')) socket.end()
      if (way?.includes('reset')) socket.resetAndDestroy()
    })
  })
  const ends: HttpEnd[] = []
  const ids = Array.from({ length: 600 }, (_, i) => i)
  const rest = ids.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const id of rest) ends[id] = await post(server.url, { id: String(id) })
    }),
  )
  await server.close()
  expect(new Set(seen).size, 'each request arrives at most once').toBe(seen.length)
  const arrived = new Set(seen)
  for (const id of ids) {
    if (ends[id]?.kind === 'never_left') expect(arrived.has(String(id)), `${id}`).toBe(false)
    if (ends[id]?.kind === 'answer') expect(arrived.has(String(id)), `${id}`).toBe(true)
  }
  const kinds = new Set(ends.map((end) => end.kind))
  expect(kinds).toContain('answer')
  expect(kinds).toContain('unanswered')
})
