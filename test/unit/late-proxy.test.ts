// The bench's slow Redis: replies are late, whole, in order, and as many as come.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createDelayLine } from '../../bench/delay-line.ts'
import { startLateProxy } from '../../bench/late-proxy.ts'
import { listen } from '../testbed/free-port.ts'

describe('a line of steps', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('runs each after its delay, in order, and their delays overlap', () => {
    const ran: string[] = []
    const line = createDelayLine(() => 5)
    line.add(() => ran.push('a'))
    vi.advanceTimersByTime(2)
    line.add(() => ran.push('b'))
    line.add(() => ran.push('c'))
    vi.advanceTimersByTime(2)
    expect(ran).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ran).toEqual(['a'])
    vi.advanceTimersByTime(2)
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  test('lets no step overtake another when the delay becomes shorter', () => {
    const ran: string[] = []
    let ms = 5
    const line = createDelayLine(() => ms)
    line.add(() => ran.push('a'))
    ms = 0
    line.add(() => ran.push('b'))
    expect(ran).toEqual([])
    vi.advanceTimersByTime(5)
    expect(ran).toEqual(['a', 'b'])
    line.add(() => ran.push('c'))
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  test('drops waiting steps when it is stopped', () => {
    const ran: string[] = []
    const line = createDelayLine(() => 5)
    line.add(() => ran.push('a'))
    line.stop()
    vi.advanceTimersByTime(50)
    expect(ran).toEqual([])
  })
})

describe('a proxy in front of a server', () => {
  const LATE_MS = 40
  const stops: (() => void)[] = []
  afterEach(() => {
    for (const stop of stops.splice(0)) stop()
  })

  /** A client of a server that answers with what it gets, through a proxy. */
  async function talk(delayMs: () => number): Promise<Socket> {
    const server = createServer((socket) => socket.pipe(socket))
    const proxy = await startLateProxy(await listen(server), delayMs)
    const client = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true })
    stops.push(
      () => client.destroy(),
      proxy.stop,
      () => server.close(),
    )
    await once(client, 'connect')
    return client
  }

  /** What comes until there are so many characters. */
  async function received(client: Socket, length: number): Promise<string> {
    let text = ''
    for await (const piece of client.iterator({ destroyOnReturn: false })) {
      text += String(piece)
      if (text.length >= length) break
    }
    return text
  }

  test('an answer comes after the delay', async () => {
    const client = await talk(() => LATE_MS)
    const begun = performance.now()
    client.write('ping')
    expect(await received(client, 4)).toBe('ping')
    expect(performance.now() - begun).toBeGreaterThanOrEqual(LATE_MS)
  })

  test('a thousand answers come in order, and their delays overlap', async () => {
    // So late that one after the other they take a minute, which together they do not on any machine.
    const lateMs = 600
    const client = await talk(() => lateMs)
    const sent = Array.from({ length: 1_000 }, (_, n) => `${n};`)
    const begun = performance.now()
    const coming = received(client, sent.join('').length)
    for (const [n, each] of sent.entries()) {
      client.write(each)
      // Many pieces, not one.
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await coming).toBe(sent.join(''))
    expect(performance.now() - begun).toBeLessThan((sent.length / 10) * lateMs)
  })

  test('what was sent arrives before the end of the connection does', async () => {
    const client = await talk(() => LATE_MS)
    const coming = received(client, 4)
    client.end('last')
    expect(await coming).toBe('last')
  })

  test('many megabytes arrive complete', async () => {
    const client = await talk(() => 1)
    const text = '0123456789abcdef'.repeat(500_000)
    const coming = received(client, text.length)
    client.write(text)
    expect((await coming) === text).toBe(true)
  })
})
