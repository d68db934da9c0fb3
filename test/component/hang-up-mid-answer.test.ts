// Pins: a client that hangs up while its answer is being made is no fault of ours, whichever way the answer is sent, and
// what is our fault is still logged when the client has gone. Real: Redis, Express, the disk, resets of the connection.
import { execFileSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { contentPath } from '../../src/gallery/content.ts'
import type { Route } from '../../src/producer/bind.ts'
import { keptLog, startApp } from '../support/app.ts'
import { startGallery, type TestGallery } from '../support/gallery.ts'
import { eventually } from '../support/wait.ts'

const { log, lines } = keptLog()
let gallery: TestGallery
beforeAll(async () => {
  gallery = await startGallery({ log })
})
afterAll(() => gallery?.close())
beforeEach(() => {
  lines.length = 0
})

/** Asks for a path and reads nothing of the answer yet. */
async function ask(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
  return socket
}

test('a reset while the file of an answer is being opened leaves no line in the log', async () => {
  const file = await gallery.file(await gallery.folder('Hang-ups'), 'video.txt')
  const { json } = await gallery.call('GET', `/files?folder_id=${file.folder_id}`)
  const { pathname } = new URL(JSON.stringify(json).match(/"url":"([^"]+)"/)?.[1] ?? '', gallery.url)
  // A pipe in place of the content: opening it waits until somebody writes.
  const path = join(gallery.dataDir, contentPath(file.hash))
  rmSync(path)
  execFileSync('mkfifo', [path])
  const socket = await ask(gallery.url, pathname)
  const writer = await eventually(async () => {
    // Refused until somebody reads: then the answer is as far as its file, and nothing of it has been sent.
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  }, 'the file is opened')
  socket.resetAndDestroy()
  await gallery.call('GET', '/files')
  await gallery.call('GET', '/files')
  closeSync(writer)
  expect(lines).toEqual([])
})

const route = (handle: Route['handle']): Route => ({
  method: 'get',
  path: '/answer',
  summary: 'A test.',
  access: { in: 'open', why: 'a test' },
  body: { as: 'ignored' },
  answers: { 200: { contentTypes: ['text/plain'] } },
  examples: [],
  handle,
})

/** The socket of a request, which handlers do not see. */
function socketOf(request: object): Socket {
  const socket: unknown = Reflect.get(request, 'socket')
  if (socket instanceof Socket) return socket
  throw new Error('the request has no socket')
}

/** What streams and sockets say when the other end has gone, each thrown the moment the socket tells of its error. */
test.each([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_STREAM_DESTROYED',
  'ERR_HTTP_HEADERS_SENT',
])('%s, thrown as the connection is reset, leaves no line in the log', async (code) => {
  const events = new EventEmitter()
  const [reached, thrown] = [once(events, 'reached'), once(events, 'thrown')]
  const throwing = route(async ({ request }) => {
    events.emit('reached')
    await new Promise((resolve) => socketOf(request).once('error', resolve))
    events.emit('thrown')
    throw Object.assign(new Error('it broke'), { code })
  })
  const app = await startApp(gallery.redis, [throwing], log)
  const socket = await ask(app.url, '/answer')
  await reached
  socket.resetAndDestroy()
  await thrown
  await app.close()
  expect(lines).toEqual([])
})

test('a client that leaves in the middle of a streamed answer leaves no line in the log', async () => {
  const events = new EventEmitter()
  const ended = once(events, 'ended')
  const streaming = route(async () => {
    const stream = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536)
      })(),
    )
    stream.once('close', () => events.emit('ended'))
    return { headers: { 'Content-Type': 'text/plain' }, stream }
  })
  const app = await startApp(gallery.redis, [streaming], log)
  const socket = await ask(app.url, '/answer')
  await once(socket, 'data')
  socket.resetAndDestroy()
  await ended
  await app.close()
  expect(lines).toEqual([])
})

test('a fault of ours is logged although the client is gone', async () => {
  const events = new EventEmitter()
  const reached = once(events, 'reached')
  const failing = route(async ({ request }) => {
    events.emit('reached')
    await new Promise((resolve) => socketOf(request).once('close', resolve))
    throw new TypeError('a mistake')
  })
  const app = await startApp(gallery.redis, [failing], log)
  const socket = await ask(app.url, '/answer')
  await reached
  socket.resetAndDestroy()
  await eventually(async () => lines.length > 0, 'it is logged')
  await app.close()
  expect(lines).toEqual([expect.stringContaining('a mistake')])
})
