// Pins: what the proof's line does to requests over TLS, by HTTP/1.1 and by HTTP/2, reaches the worker's own client: a
// fault that never came would prove nothing. Real: TLS, HTTP/2.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHttpAgent, type HttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { createLineTls, type ProviderLine, startProviderLine } from '../prove/provider-line.ts'
import { createRandom } from '../prove/random.ts'
import { OUT_OF_TIME } from '../support/call-ends.ts'
import { httpAnswer, onRequest, startTcpServer, type TcpServer } from '../support/tcp-server.ts'
import { eventually } from '../support/wait.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-provider-line-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe.each(['h1', 'h2'] as const)('over TLS by %s', (protocol) => {
  const tls = createLineTls(protocol, join(dir, protocol))
  const { NODE_TLS_REJECT_UNAUTHORIZED: asItWas = '1' } = process.env
  let agent: HttpAgent
  let product: TcpServer
  let line: ProviderLine
  /** What WhatsApp does with a request, by its body. */
  let behaviour: 'answer' | 'hang' | 'reset'
  /** Connections whose requests hang. */
  const hanging: Socket[] = []

  beforeEach(async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    behaviour = 'answer'
    agent = createHttpAgent()
    product = await startTcpServer((socket) =>
      onRequest(socket, () => {
        if (behaviour === 'answer') socket.write(httpAnswer(200, '{}'))
        if (behaviour === 'hang') hanging.push(socket)
        if (behaviour === 'reset') socket.resetAndDestroy()
      }),
    )
    line = await startProviderLine(() => product.port, createRandom(1, 'line'), tls)
  })
  afterEach(async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = asItWas
    agent.destroy()
    await line.close()
    await product.close()
    hanging.length = 0
  })

  const post = (n: number, timeoutMs = 300_000): Promise<HttpEnd> =>
    postJson(agent, new URL(`${line.url}/x`), {}, { n }, timeoutMs)
  const came = (n: number) => product.received().includes(`{"n":${n}}`)
  const kindsOf = (ends: readonly HttpEnd[]) => new Set(ends.map(({ kind }) => kind))

  test('requests are passed on and answered', async () => {
    const ends = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n)))
    expect(kindsOf(ends)).toEqual(new Set(['answer']))
    expect(agent.connections().map((each) => each.protocol)).toEqual([protocol])
  })

  test('replies are delayed', async () => {
    line.delayReplies(300, 301)
    const askedAt = performance.now()
    expect(await post(1)).toMatchObject({ kind: 'answer' })
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(290)
  })

  test('replies to requests that arrived are lost, and counted', async () => {
    line.swallowReplies(1)
    const ends = [await post(0), await post(1), await post(2), await post(3)]
    expect(kindsOf(ends)).toEqual(new Set(['unanswered']))
    expect(line.swallowed()).toBe(4)
    expect([0, 1, 2, 3].every(came)).toBe(true)
    line.swallowReplies(0)
    expect(await post(4)).toMatchObject({ kind: 'answer' })
  })

  test('requests interrupted by WhatsApp are in doubt, and no others beyond those counted', async () => {
    behaviour = 'hang'
    const others = [10, 11, 12].map((n) => post(n))
    await eventually(async () => [10, 11, 12].every(came), 'the others')
    behaviour = 'reset'
    const ends = [await post(0), await post(1), await post(2), await post(3)]
    expect(kindsOf(ends)).toEqual(new Set(['unanswered']))
    for (const socket of hanging) socket.write(httpAnswer(200, '{}'))
    const lost = (await Promise.all(others)).filter((end) => end.kind === 'unanswered')
    expect(lost.length).toBe(line.lostBeside())
  })

  test('requests under way are ended, and the next go over another connection', async () => {
    for (let round = 0; round < 12; round += 1) {
      behaviour = 'hang'
      const underWay = post(2 * round)
      await eventually(async () => came(2 * round), 'the request')
      line.cutAll()
      // A GOAWAY lets the request come to its end, which it has in this.
      for (const socket of hanging.splice(0)) socket.resetAndDestroy()
      expect(await underWay).toMatchObject({ kind: 'unanswered' })
      behaviour = 'answer'
      expect(await post(2 * round + 1)).toMatchObject({ kind: 'answer' })
    }
  })

  test('connections that are just ending are cut again', async () => {
    expect(await post(0)).toMatchObject({ kind: 'answer' })
    for (let round = 0; round < 40; round += 1) line.cutAll()
    // The first may still go over a connection that is not known to have ended.
    await eventually(async () => (await post(1, 5_000)).kind === 'answer', 'an answer')
  })

  test('connections go half open, and the next work', async () => {
    expect(await post(0)).toMatchObject({ kind: 'answer' })
    line.freezeAll()
    expect(await post(1, 300)).toEqual(OUT_OF_TIME)
    expect(came(1)).toBe(false)
    expect(await post(2)).toMatchObject({ kind: 'answer' })
  })

  test('requests and replies are visible in plain text, and so is the end of unanswered ones', async () => {
    const seen: string[] = []
    const ended = new Set<object>()
    line.observe({
      request: (piece) => seen.push(`${piece.split(' ')[0]} ${piece.split('\r\n\r\n')[1]}`),
      reply: (piece) => seen.push(piece.split(/\s/)[1] ?? ''),
      closed: (link) => ended.add(link),
    })
    expect(await post(1)).toMatchObject({ kind: 'answer' })
    expect(seen).toEqual(['POST {"n":1}', '200'])
    behaviour = 'hang'
    ended.clear()
    expect(await post(2, 200)).toMatchObject({ kind: 'unanswered' })
    await eventually(async () => ended.size > 0, 'the end')
  })
})
