// Pins: connections to providers are used again as long as that is safe, closed when nobody uses them, and never carry two
// requests at once. Real: TCP and TLS.
import type { Dispatcher } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Asked, createHttpAgent, type HttpAgent } from '../../src/providers/http-agent.ts'
import { closeConnectionOf, type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import type { Connection } from '../../src/providers/http-contract.ts'
import { httpAnswer, onRequest, startTcpServer, type TcpServer } from '../support/tcp-server.ts'
import { eventually } from '../support/wait.ts'

let agent: HttpAgent
beforeEach(() => {
  agent = createHttpAgent()
})
afterEach(() => agent.destroy())

/** Ends what hangs; no test waits for it. */
const LIMIT_MS = 300_000

const post = ({ url }: TcpServer, timeoutMs = LIMIT_MS): Promise<HttpEnd> =>
  postJson(agent, new URL(`${url}/path?a=b`), { authorization: 'Bearer x' }, { text: 'ä' }, timeoutMs)
const DONE = { kind: 'answer', status: 200, body: '{}', retryAfterMs: undefined }

/** Runs `use` on a server that behaves like this. */
async function on(
  behave: Parameters<typeof startTcpServer>[0],
  use: (server: TcpServer) => Promise<void>,
): Promise<void> {
  const server = await startTcpServer(behave)
  try {
    await use(server)
  } finally {
    await server.close()
  }
}

const answering =
  (headers: Readonly<Record<string, string>> = {}) =>
  (socket: Parameters<typeof onRequest>[0]) =>
    onRequest(socket, () => socket.write(httpAnswer(200, '{}', headers)))

test('a request is written as HTTP/1.1 with the length of its body in bytes', () =>
  on(answering(), async (server) => {
    expect(await post(server)).toEqual(DONE)
    const host = server.url.slice('http://'.length)
    const lines = [
      ...['POST /path?a=b HTTP/1.1', `host: ${host}`, 'connection: keep-alive', 'content-type: application/json'],
      ...['authorization: Bearer x', 'content-length: 13', '', '{"text":"ä"}'],
    ]
    expect(Buffer.from(server.received(), 'latin1').toString('utf8')).toBe(lines.join('\r\n'))
  }))

test('a request that breaks while it is written fails as one that may have left, and others of its turn are sent', () =>
  on(answering(), async (server) => {
    const warm = await post(server)
    const left = (): never => {
      throw new TypeError('broken')
    }
    const broken = postJson(agent, new URL(server.url), {}, {}, LIMIT_MS, { leaveBy: Number.POSITIVE_INFINITY, left })
    expect([warm, await post(server), await post(server)]).toEqual([DONE, DONE, DONE])
    expect(await broken).toEqual({ kind: 'unanswered', cause: 'typeerror' })
  }))

test('requests in a row share a connection, and requests at once have one each', () =>
  on(answering(), async (server) => {
    for (let i = 0; i < 5; i += 1) expect(await post(server)).toEqual(DONE)
    expect(server.connections()).toBe(1)
    expect(await Promise.all(Array.from({ length: 4 }, () => post(server)))).toEqual(Array(4).fill(DONE))
    expect(server.connections()).toBe(4)
    expect(await Promise.all(Array.from({ length: 4 }, () => post(server)))).toEqual(Array(4).fill(DONE))
    expect(server.connections()).toBe(4)
  }))

test('connections are used in turn, so that none that a peak needs is closed as unused before the next', () => {
  const used: number[] = []
  let opened = 0
  return on(
    (socket) => {
      opened += 1
      const number = opened
      onRequest(socket, () => {
        used.push(number)
        socket.write(httpAnswer(200, '{}'))
      })
    },
    async (server) => {
      await Promise.all([post(server), post(server), post(server)])
      used.length = 0
      for (let n = 0; n < 6; n += 1) await post(server)
      expect(new Set(used.slice(0, 3))).toEqual(new Set([1, 2, 3]))
      expect(used.slice(3)).toEqual(used.slice(0, 3))
    },
  )
})

test.each<[string, Parameters<typeof startTcpServer>[0]]>([
  ['says that it closes it', answering({ connection: 'close' })],
  ['says that it keeps it for two seconds', answering({ 'keep-alive': 'timeout=2' })],
  ['sends more than was asked for', (socket) => onRequest(socket, () => socket.write(`${httpAnswer(200, '{}')}HTTP`))],
])('a connection is not used again when the server %s', (_name, behave) =>
  on(behave, async (server) => {
    expect(await post(server)).toEqual(DONE)
    expect(await post(server)).toEqual(DONE)
    expect(server.connections()).toBe(2)
  }),
)

test('bytes that nobody asked for end a connection, and the next request does not read them as its answer', () => {
  let later: (() => void) | undefined
  let isOver = false
  return on(
    (socket) => {
      onRequest(socket, () => socket.write(httpAnswer(200, '{}')))
      later ??= () => void socket.write(httpAnswer(200, '{"forged":1}'))
      socket.once('close', () => {
        isOver = true
      })
    },
    async (server) => {
      expect(await post(server)).toEqual(DONE)
      later?.()
      await eventually(async () => isOver, 'the end of the connection')
      expect(await post(server)).toEqual(DONE)
      expect(server.connections()).toBe(2)
    },
  )
})

test('a server that answers before it has read the request gets no other on that connection', () =>
  on(
    (socket) => {
      socket.pause()
      socket.write(httpAnswer(413, '{}', {}))
      socket.setTimeout(300, () => socket.resume())
    },
    async (server) => {
      const big = { text: 'x'.repeat(20_000_000) }
      const end = await postJson(agent, new URL(server.url), {}, big, LIMIT_MS)
      expect(end).toMatchObject({ kind: 'answer', status: 413 })
      await postJson(agent, new URL(server.url), {}, {}, LIMIT_MS)
      expect(server.connections()).toBe(2)
    },
  ))

test('an unused connection is closed', () => {
  let closed = 0
  return on(
    (socket) => {
      socket.on('close', () => {
        closed += 1
      })
      answering({ 'keep-alive': 'timeout=3' })(socket)
    },
    async (server) => {
      await Promise.all([post(server), post(server)])
      await eventually(async () => closed === 2, 'the end of both')
      expect(await post(server)).toEqual(DONE)
      expect(server.connections()).toBe(3)
    },
  )
})

test('destroyed, it fails requests under way as unanswered, and waiting or later ones as unsent', () =>
  on(
    (socket) => socket.resume(),
    async (server) => {
      const underWay = post(server)
      await eventually(async () => server.received().includes('POST'), 'the request')
      const waiting = post(server)
      agent.destroy()
      expect(await underWay).toMatchObject({ kind: 'unanswered' })
      expect(await waiting).toEqual({ kind: 'never_left', cause: 'stopped' })
      expect(await post(server)).toEqual({ kind: 'never_left', cause: 'stopped' })
    },
  ))

test('destroyed, it opens no connection for requests that waited for one', () => {
  const own = createHttpAgent({ most: { h1: 1, h2: 1 }, opening: 1, openingFirst: 1 })
  return on(
    (socket) => socket.resume(),
    async (server) => {
      const ask = () => postJson(own, new URL(server.url), {}, {}, LIMIT_MS)
      const underWay = ask()
      await eventually(async () => server.received().includes('POST'), 'the request')
      const waiting = ask()
      await new Promise(setImmediate)
      own.destroy()
      await Promise.all([underWay, waiting])
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(server.connections()).toBe(1)
    },
  )
})

test('no more connections are opened than the limit, and further requests wait for one of them', () => {
  const own = createHttpAgent({ most: { h1: 3, h2: 1 }, opening: 2, openingFirst: 1 })
  let together = 0
  let most = 0
  return on(
    (socket) =>
      onRequest(socket, () => {
        together += 1
        most = Math.max(most, together)
        setTimeout(() => {
          together -= 1
          socket.write(httpAnswer(200, '{}'))
        }, 20)
      }),
    async (server) => {
      const url = new URL(server.url)
      const ends = await Promise.all(Array.from({ length: 20 }, () => postJson(own, url, {}, {}, LIMIT_MS)))
      expect(ends).toEqual(Array(20).fill(DONE))
      expect([server.connections(), most]).toEqual([3, 3])
      expect(own.connections()).toEqual([{ origin: url.origin, protocol: 'h1', count: 3 }])
      own.destroy()
      expect(own.connections()).toEqual([])
    },
  )
})

test('a burst opens no more connections at a time than the limit, and none that earlier ones made needless', () => {
  const own = createHttpAgent({ most: { h1: 100, h2: 1 }, opening: 2, openingFirst: 1 })
  return on(answering(), async (server) => {
    const url = new URL(server.url)
    const ends = await Promise.all(Array.from({ length: 50 }, () => postJson(own, url, {}, {}, LIMIT_MS)))
    expect(ends).toEqual(Array(50).fill(DONE))
    expect(server.connections()).toBeLessThan(50)
    own.destroy()
  })
})

test.each([
  [7, 7],
  [8, 16],
  [20, 40],
])('%i requests that find no connection open %i', (requests, connections) => {
  const answers: (() => void)[] = []
  return on(
    (socket) => onRequest(socket, () => answers.push(() => socket.write(httpAnswer(200, '{}')))),
    async (server) => {
      const ask = (count: number) => Promise.all(Array.from({ length: count }, () => post(server)))
      const first = ask(1)
      await eventually(async () => answers.length === 1, 'the first request')
      const rest = ask(requests)
      await eventually(async () => answers.length === 1 + requests, 'the requests')
      await eventually(async () => server.connections() >= 1 + connections, 'the connections')
      for (const answer of answers) answer()
      expect(await Promise.all([first, rest])).toEqual([[DONE], Array(requests).fill(DONE)])
      expect(server.connections()).toBe(1 + connections)
    },
  )
})

test('a connection with an answer that belongs to another request is closed', () =>
  on(answering(), async (server) => {
    const end = await post(server)
    closeConnectionOf(end)
    expect(await post(server)).toEqual(DONE)
    expect(server.connections()).toBe(2)
  }))

test('a request that would be written too late is not written, and the connection is kept', () =>
  on(answering(), async (server) => {
    expect(await post(server)).toEqual(DONE)
    const late = postJson(agent, new URL(server.url), {}, { n: 2 }, LIMIT_MS, {
      leaveBy: performance.now() + 50,
      left: () => {},
    })
    // Behind what gives it to undici, and before undici has looked whether the connection is still there: a process that
    // is stopped just then.
    setImmediate(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100))
    expect(await late).toEqual({ kind: 'never_left', cause: 'missed_slot' })
    expect(await post(server)).toEqual(DONE)
    expect(server.connections()).toBe(1)
    expect(server.received()).not.toContain('"n":2')
  }))

test('a request uses another connection when the server closes its own before undici has checked it', () => {
  const sockets: { destroy(): unknown }[] = []
  return on(
    (socket) => {
      sockets.push(socket)
      answering()(socket)
    },
    async (server) => {
      expect(await post(server)).toEqual(DONE)
      const next = post(server)
      // Behind what gives it to undici, and before undici has looked whether the connection is still there.
      setImmediate(() => sockets[0]?.destroy())
      expect(await next).toEqual(DONE)
      expect(server.connections()).toBe(2)
      expect(server.received().match(/POST/g)).toHaveLength(2)
    },
  )
})

test('a request that undici would write again is not written, and is in doubt', async () => {
  let call: Dispatcher.DispatchHandler | undefined
  const connection: Connection = {
    ...{ protocol: 'h1', room: 1, running: 1, isUsed: false, isOpen: true },
    ...{ canTake: () => true, take() {}, giveBack() {}, ended() {}, retire() {}, destroy() {}, idleSince: () => 0 },
    writer: { dispatch: (_request, handler) => (call = handler) },
  }
  const asked = new Asked(new URL('http://localhost'))
  asked.give(connection)
  const ended = postJson({ ask: () => asked }, asked.url, {}, {}, LIMIT_MS)
  await asked.given
  const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} }
  call?.onRequestStart?.(controller, {})
  expect(() => call?.onRequestStart?.(controller, {})).toThrow()
  expect(await ended).toEqual({ kind: 'unanswered', cause: 'repeated' })
})
