// Pins: who stops reading a download of a campaign, or falls silent on a connection, holds next to nothing of it in the
// process, and no longer than 75 s. The 75 s are read off the connection and then made short.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openFolder } from '../../src/files/folder.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { writeSnapshot } from '../../src/recipients/snapshot.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { campaignRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

/** An export of them is more than the system takes for one connection: 4 MB on its way out, 6 MB on its way in. */
const RECIPIENTS = 40_000
const REFUSED_BYTES = 32_000_000
const READERS = 3
/** What the process may hold of one answer: a piece that is made, and one that is being written. */
const HELD_BYTES = 512 * 1_024
const SILENCE_MS = 75_000

let service: CampaignService
let id: string
const accepted: Socket[] = []
const opened: Socket[] = []
const keep = (message: unknown): void => {
  accepted.push(z.object({ socket: z.instanceof(Socket) }).parse(message).socket)
}

beforeAll(async () => {
  service = await startCampaigns({ worker: false })
  id = await service.create({ rows: {} })
  const parsed = parseCampaignId(id)
  if (!parsed) throw new Error('no campaign')
  // What a preflight leaves behind, without its minutes on a busy machine.
  const snapshot = await writeSnapshot(openFolder(service.config.dataDir), parsed)
  for (let i = 0; i < RECIPIENTS; i += 1) await snapshot.add({ to: String(491_530_000_000 + i), values: ['P'] })
  await snapshot.close()
  await campaignRecord(service.redis, parsed).change({ snapshot: snapshot.name, total: RECIPIENTS })
  const folder = join(service.config.dataDir, campaignFolder(parsed))
  writeFileSync(join(folder, snapshot.name, 'refused.csv'), 'a row that was refused\n'.repeat(REFUSED_BYTES / 23))
  subscribe('net.server.socket', keep)
})
afterAll(async () => {
  unsubscribe('net.server.socket', keep)
  await service?.close()
})
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy()
  accepted.length = 0
})

/** A connection that has sent this and reads nothing; the producer's side of it. */
async function silent(text: string): Promise<{ ours: Socket; theirs: Socket }> {
  const { hostname, port } = new URL(service.url)
  const ours = connect({ host: hostname, port: Number(port) }).on('error', () => {})
  opened.push(ours)
  await once(ours, 'connect')
  ours.pause()
  const theirs = await eventually(
    async () => accepted.find(({ remotePort }) => remotePort === ours.localPort),
    'the producer has accepted it',
  )
  ours.write(text)
  return { ours, theirs }
}

const download = (path: string): string =>
  `GET /campaigns/${id}/${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.tenant.apiKey}\r\n\r\n`

/** Files of the data folder that the process has open. */
const filesOpen = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(service.config.dataDir) ? [path] : []
    } catch {
      return [] // closed since
    }
  })

test.each(['export?format=ndjson', 'refused'])(
  'three that stop reading %s hold half a megabyte each at most, and their connections and files are closed in time',
  async (path) => {
    expect(filesOpen()).toEqual([])
    const readers = await Promise.all(Array.from({ length: READERS }, () => silent(download(path))))
    const sockets = readers.map(({ theirs }) => theirs)
    // The system takes no more.
    await eventually(async () => sockets.every(({ writableLength }) => writableLength > 0), 'all are held back')
    const written = () => sockets.map(({ bytesWritten }) => bytesWritten)
    let last: number[] = []
    await eventually(async () => {
      const now = written()
      const isStill = now.every((bytes, i) => bytes === last[i])
      last = now
      return isStill
    }, 'nothing more is made for them')
    expect(filesOpen().length).toBeLessThanOrEqual(READERS)
    for (const { writableLength, timeout } of sockets) {
      expect(writableLength).toBeLessThan(HELD_BYTES)
      expect(timeout).toBe(SILENCE_MS)
    }
    for (const socket of sockets) socket.setTimeout(100)
    await eventually(async () => sockets.every(({ destroyed }) => destroyed), 'they are cut off')
    await eventually(async () => filesOpen().length === 0, 'no file is left open')
  },
)

test('an upload of rows that stalls is cut off after 75 seconds at the latest, and leaves no draft', async () => {
  const draft = await service.create({ rows: {} })
  const head = `POST /campaigns/${draft}/rows HTTP/1.1\r\nhost: x\r\ncontent-type: text/csv\r\ncontent-length: 1000000\r\n`
  const { theirs } = await silent(`${head}authorization: Bearer ${service.tenant.apiKey}\r\n\r\nphone,name\n`)
  const drafts = () =>
    readdirSync(service.config.dataDir, { recursive: true }).filter((name) => /^incoming\/./.test(String(name)))
  await eventually(async () => drafts().length === 1, 'it is being received')
  expect(theirs.timeout).toBe(SILENCE_MS)
  theirs.setTimeout(100)
  await eventually(async () => theirs.destroyed, 'it is cut off')
  await eventually(async () => drafts().length === 0, 'nothing of it is kept')
})

test('a slow reader that keeps reading gets the whole file', async () => {
  const { ours, theirs } = await silent(download('refused'))
  await eventually(async () => theirs.writableLength > 0, 'it is held back')
  theirs.setTimeout(5_000)
  let bytes = 0
  ours.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  ours.resume()
  await eventually(async () => bytes > REFUSED_BYTES - 23, 'all of it has come')
  expect(theirs.destroyed).toBe(false)
})
