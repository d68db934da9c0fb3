// Pins: over TLS, by HTTP/1.1 and by HTTP/2, a request comes to the provider once at most, also when its connection is
// closed at the very moment that it is written, and one that came is never called unsent. Real: TLS, HTTP/2.
import { mkdtempSync, rmSync } from 'node:fs'
import { constants } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHttpAgent, type HttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { httpAnswer } from '../support/tcp-server.ts'
import { type Asked, type AskedStream, startTlsProvider, type TlsProvider } from '../support/tls-provider.ts'
import { makeCertificate } from '../testbed/certificate.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-provider-repeats-'))
const certificate = makeCertificate(dir)
afterAll(() => rmSync(dir, { recursive: true, force: true }))

let agent: HttpAgent
const { NODE_TLS_REJECT_UNAUTHORIZED: asItWas = '1' } = process.env
beforeEach(() => {
  agent = createHttpAgent()
  // As a certificate that is trusted.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
})
afterEach(() => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = asItWas
  agent.destroy()
})

/** Turns of the event loop that the end of a connection comes before the next request, or behind it. */
const TURNS = [0, 1, 2, 3, 4, 5, 6, 8]
/** Requests that are written at once, where a connection takes so many. */
const AT_ONCE = { h1: 1, h2: 5 }

const bodyOf = (n: number): string => JSON.stringify({ n })

/**
 * Sends one request, and when it is answered more while the server ends the connection, so many event-loop ticks
 * after its answer; all anew for each pair of turns. Every body is counted.
 */
async function cross(
  provider: TlsProvider,
  ending: { turns: number; endNow: () => void },
  atOnce: number,
): Promise<HttpEnd[]> {
  const ends: HttpEnd[] = []
  let n = 0
  const post = async () => {
    const mine = n
    n += 1
    ends[mine] = await postJson(agent, provider.url, {}, { n: mine }, 2_000)
  }
  for (const ours of TURNS) {
    for (const theirs of TURNS) {
      await post()
      ending.turns = theirs
      ending.endNow()
      for (let i = 0; i < ours; i += 1) await turn()
      await Promise.all(Array.from({ length: atOnce }, post))
    }
  }
  return ends
}

function expectTruth({ bodies }: TlsProvider, ends: readonly HttpEnd[]): void {
  const came = new Set(bodies)
  expect(bodies.length, 'requests that came more than once').toBe(came.size)
  for (const [n, { kind }] of ends.entries()) {
    if (kind === 'never_left') expect(came.has(bodyOf(n)), `${n} came and is called unsent`).toBe(false)
    if (kind === 'answer') expect(came.has(bodyOf(n)), `${n} is called answered and never came`).toBe(true)
  }
}

/** Ends the connection of the latest request once it is told to, so many turns later. */
function createEnding<Way extends Asked>(end: (asked: Way) => void) {
  const ending = {
    turns: 0,
    latest: undefined as Way | undefined,
    endNow() {
      const { latest, turns } = ending
      void (async () => {
        for (let i = 0; i < turns; i += 1) await turn()
        if (latest) end(latest)
      })()
    },
  }
  return ending
}

describe('by HTTP/1.1', () => {
  test.each<[string, (asked: Asked) => void]>([
    ['resets the connection', ({ reset }) => reset()],
    ['closes the connection', ({ socket }) => socket.end()],
    ['closes it without a goodbye of TLS', ({ close }) => close()],
  ])('no request is repeated when the server %s just as it is written', async (_name, end) => {
    const ending = createEnding(end)
    const provider = await startTlsProvider(certificate, {
      http1(asked) {
        ending.latest = asked
        asked.socket.write(httpAnswer(200, '{}'))
      },
    })
    expectTruth(provider, await cross(provider, ending, AT_ONCE.h1))
    await provider.close()
  })
})

describe('by HTTP/2', () => {
  test.each<[string, (asked: AskedStream) => void]>([
    ['resets the connection', ({ reset }) => reset()],
    ['closes the connection', ({ socket }) => socket.end()],
    ['closes it without a goodbye of TLS', ({ close }) => close()],
    ['ends the session', ({ session }) => session.destroy()],
    ['ends the session with an error', ({ session }) => session.destroy(undefined, constants.NGHTTP2_INTERNAL_ERROR)],
    ['says GOAWAY', ({ session }) => session.destroyed || session.goaway()],
    ['says GOAWAY and closes', ({ session }) => session.close()],
  ])('no request is repeated when the server %s just as it is written', async (_name, end) => {
    const ending = createEnding(end)
    const provider = await startTlsProvider(certificate, {
      http2(asked) {
        ending.latest = asked
        if (asked.stream.destroyed) return
        asked.stream.respond({ ':status': 200 })
        asked.stream.end('{}')
      },
    })
    expectTruth(provider, await cross(provider, ending, AT_ONCE.h2))
    await provider.close()
  })
})

test.each(['h1', 'h2'] as const)(
  'no request is repeated when the server closes right after the handshake, by %s',
  async (protocol) => {
    let taken = 0
    const provider = await startTlsProvider(certificate, {
      http1: ({ socket }) => socket.write(httpAnswer(200, '{}')),
      ...(protocol === 'h2' && {
        http2({ stream }: AskedStream) {
          if (stream.destroyed) return
          stream.respond({ ':status': 200 })
          stream.end('{}')
        },
      }),
      async connected({ reset }) {
        taken += 1
        if (taken % 4 === 0) return
        for (let i = 0; i < taken % 7; i += 1) await turn()
        reset()
      },
    })
    const ends: HttpEnd[] = []
    const rest = Array.from({ length: 200 }, (_, n) => n).values()
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const n of rest) ends[n] = await postJson(agent, provider.url, {}, { n }, 2_000)
      }),
    )
    expectTruth(provider, ends)
    await provider.close()
  },
)
