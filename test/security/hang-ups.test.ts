// Pins: a client that hangs up, on any route and at any stage, ends nothing, is nobody's fault in the log, and leaves
// neither drafts nor descriptors behind.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hangUp, STAGES, type WholeRequest, wholeRequest } from '../prove/hostile/hang-ups.ts'
import { watchProcess } from '../prove/hostile/watch.ts'
import { GALLERY, type HostileGround, startHostileGround } from '../support/hostile-producer.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { DECLARED } from '../support/route-table.ts'
import { eventually } from '../support/wait.ts'

let ground: HostileGround
let session: { cookie: string }
beforeAll(async () => {
  ground = await startHostileGround()
  session = await sessionHeader(ground.redis)
})
afterAll(() => ground?.stop())

/** Places of an upload at which it is cut, 5 KB or so apart. */
const CUTS = 75

const JSON_TYPE = 'content-type: application/json'

/** Every declared route, and what of them has a long body or a long answer. */
function requests(): WholeRequest[] {
  const bearer = `authorization: Bearer ${ground.key}`
  const signedIn = `cookie: ${session.cookie}`
  const declared = DECLARED.map(({ name, method, path, key, body }) =>
    wholeRequest(name, {
      method,
      path,
      headers: [...(key === 'bearer' ? [bearer] : []), ...(method === 'GET' ? [] : [JSON_TYPE])],
      ...(method === 'GET' || body === 'other'
        ? {}
        : { body: Buffer.from(JSON.stringify({ api_key: ground.key, tags: [1], name: 'x', x: 'y'.repeat(30_000) })) }),
    }),
  )
  const form = Buffer.from(
    `--b\r\ncontent-disposition: form-data; name="folder_id"\r\n\r\n${ground.folderId}\r\n` +
      `--b\r\ncontent-disposition: form-data; name="file"; filename="x.txt"\r\n\r\n${'x'.repeat(400_000)}\r\n--b--\r\n`,
  )
  const type = 'content-type: multipart/form-data; boundary=b'
  const rows = Buffer.from(`phone\n${'+447700900123\n'.repeat(20_000)}`)
  return [
    ...declared,
    wholeRequest('an upload', { method: 'POST', path: `${GALLERY}/files`, headers: [bearer, type], body: form }),
    wholeRequest('rows', {
      method: 'POST',
      path: '/campaigns/cmp_1_1/rows',
      headers: [bearer, 'content-type: text/csv'],
      body: rows,
    }),
    wholeRequest('a whole file', { method: 'GET', path: ground.mediaPath }),
    wholeRequest('a part of a file', { method: 'GET', path: ground.mediaPath, headers: ['range: bytes=1000000-'] }),
    wholeRequest('no part of a file', { method: 'GET', path: ground.mediaPath, headers: ['range: bytes=9000000-'] }),
    wholeRequest('the dashboard', { method: 'GET', path: '/dashboard/', headers: [signedIn] }),
    wholeRequest('its queues', { method: 'GET', path: '/dashboard/api/queues', headers: [signedIn] }),
    wholeRequest('nothing', { method: 'GET', path: '/nowhere' }),
  ]
}

test('a client that hangs up at any stage of any route leaves nothing behind', async () => {
  const watch = watchProcess(ground.url, ground.process.pid)
  const before = (await watch.look()).descriptors
  for (const stage of STAGES) {
    await Promise.all(requests().map((request) => hangUp(ground.url, request, stage)))
    expect((await fetch(`${ground.url}/healthz`)).status, stage).toBe(200)
  }
  // Where it hurt most: in the middle of a file.
  const [file, part] = requests().filter(({ name }) => / file$/.test(name))
  if (!file || !part) throw new Error('no file')
  for (let n = 0; n < 15; n += 1) {
    await Promise.all([file, part].map((each) => hangUp(ground.url, each, 'at the first bytes of the answer')))
  }
  expect((await fetch(`${ground.url}/healthz`)).status).toBe(200)
  await eventually(async () => ground.drafts().length === 0, 'no drafts are left')
  await eventually(async () => (await watch.look()).descriptors <= before + 5, 'no descriptors are left', 30_000)
  watch.stop()
  expect(ground.faults()).toEqual([])
})

test('an upload that is cut anywhere leaves no draft and no line in the log', async () => {
  const upload = requests().find(({ name }) => name === 'an upload')
  if (!upload) throw new Error('no upload')
  const { head, body } = upload
  const cuts = Array.from({ length: CUTS }, (_, n) => Math.floor((body.length * n) / CUTS))
  for (let at = 0; at < cuts.length; at += 15) {
    const some = cuts.slice(at, at + 15)
    const cutAt = (cut: number) => ({ name: 'cut', head, body: body.subarray(0, cut) })
    await Promise.all(some.map((cut) => hangUp(ground.url, cutAt(cut), 'after the body')))
  }
  await eventually(async () => ground.drafts().length === 0, 'no drafts are left')
  expect(ground.faults()).toEqual([])
})
