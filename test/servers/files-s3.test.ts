// Pins: a bucket keeps files as a folder does; a service whose files are in a bucket serves its gallery and sends its
// campaigns, says 503 while the bucket is away, and goes on by itself when it is back. On a real S3 server.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBucket } from '../../src/files/bucket.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { type FileStore, readPart, removeAll } from '../../src/files/store.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { parseBucketAddress } from '../../src/kernel/bucket-address.ts'
import { GALLERY } from '../../src/producer/api/gallery/routes.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { eventually } from '../support/wait.ts'
import { freePort, listen } from '../testbed/free-port.ts'
import { S3_KEYS, type S3Server, startS3Server } from '../testbed/s3-server.ts'

let dir: string
let s3: S3Server
let address: string

const addressAt = (endpoint: string, bucket = s3.bucket) => `s3://${bucket}/here?endpoint=${endpoint}&path_style=true`
const openAt = (text: string) => openBucket(parseBucketAddress(text), join(dir, 'local'), { gives: false })

beforeAll(async () => {
  for (const [name, value] of Object.entries(S3_KEYS)) vi.stubEnv(name, value)
  dir = mkdtempSync(join(tmpdir(), 'laneway-s3-'))
  s3 = await startS3Server(join(dir, 'swift'))
  address = addressAt(s3.endpoint)
})
afterAll(async () => {
  await s3?.close()
  vi.unstubAllEnvs()
  rmSync(dir, { recursive: true, force: true })
})

const namesIn = async (files: FileStore, prefix: string): Promise<string[]> => {
  const names: string[] = []
  for await (const { name } of files.list(prefix)) names.push(name)
  return names.sort()
}

describe.each(['a folder', 'a bucket'])('%s', (kind) => {
  let files: FileStore
  beforeAll(() => {
    files = kind === 'a folder' ? openFolder(join(dir, 'folder')) : openAt(address)
  })
  afterAll(() => files.close())

  const put = async (name: string, content: string) => {
    const draft = await receive(files, [Buffer.from(content)])
    await files.take(draft.path, name)
    return draft
  }

  test('stores files whole and in parts, and the draft is gone', async () => {
    const draft = await put('one/a.txt', '0123456789')
    expect(existsSync(draft.path)).toBe(false)
    expect(String(await readPart(files, 'one/a.txt'))).toBe('0123456789')
    expect(String(await readPart(files, 'one/a.txt', { from: 3, to: 6 }))).toBe('345')
    expect(await readPart(files, 'one/a.txt', { from: 3, to: 3 })).toHaveLength(0)
    expect(await files.sizeOf('one/a.txt')).toBe(10)
  })

  test('accepts more than fits into one part of an upload', async () => {
    const content = Buffer.alloc(20_000_000, 'a line of a long list\n')
    const draft = await receive(files, [content])
    await files.take(draft.path, 'one/large.txt')
    expect(await files.sizeOf('one/large.txt')).toBe(content.length)
    const end = await readPart(files, 'one/large.txt', { from: content.length - 100, to: content.length })
    expect(end.equals(content.subarray(-100))).toBe(true)
  })

  test('replaces a file of the same name', async () => {
    await put('one/b.txt', 'first')
    await put('one/b.txt', 'second')
    expect(String(await readPart(files, 'one/b.txt'))).toBe('second')
  })

  test('reports a file that does not exist as missing', async () => {
    await expect(files.read('one/none.txt')).rejects.toMatchObject({ name: 'FileMissingError' })
    await expect(files.sizeOf('none/none.txt')).rejects.toMatchObject({ name: 'FileMissingError' })
    await files.remove('one/none.txt')
  })

  test('lists what is below a name, with its time, and removes it', async () => {
    for (const name of ['two/x/1', 'two/x/2', 'two/y/1', 'twofold/1']) await put(name, name)
    expect(await namesIn(files, 'two/')).toEqual(['two/x/1', 'two/x/2', 'two/y/1'])
    for await (const { writtenMs } of files.list('two/')) expect(Math.abs(writtenMs - Date.now())).toBeLessThan(60_000)
    await removeAll(files, 'two/x/')
    expect(await namesIn(files, 'two/')).toEqual(['two/y/1'])
    await files.remove('two/y/1')
    expect(await namesIn(files, 'two/')).toEqual([])
    expect(await namesIn(files, 'twofold/')).toEqual(['twofold/1'])
  })
})

describe('a bucket that cannot be used', () => {
  const awayAt = async (text: string) => {
    const files = openAt(text)
    await expect(files.read('one/a.txt')).rejects.toMatchObject({ name: 'FilesAwayError' })
    const draft = await receive(files, [Buffer.from('kept')])
    await expect(files.take(draft.path, 'one/c.txt')).rejects.toMatchObject({ name: 'FilesAwayError' })
    expect(existsSync(draft.path)).toBe(true)
    await draft.discard()
    files.close()
  }

  test('counts as away when nobody listens there, and the draft stays', async () => {
    await awayAt(addressAt(`http://127.0.0.1:${await freePort()}`))
  })

  test('counts as away when it does not exist', async () => {
    await awayAt(addressAt(s3.endpoint, 'no-such-bucket'))
  })

  test('counts as away when the credentials are wrong', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong')
    await awayAt(address).finally(() => vi.stubEnv('AWS_SECRET_ACCESS_KEY', S3_KEYS.AWS_SECRET_ACCESS_KEY))
  })

  test('counts as away when it is full', async () => {
    const full: Server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', () => socket.end('HTTP/1.1 507 Insufficient Storage\r\ncontent-length: 0\r\n\r\n'))
    })
    await awayAt(addressAt(`http://127.0.0.1:${await listen(full)}`)).finally(() => full.close())
  })
})

describe('a service whose files are in a bucket', () => {
  let service: CampaignService
  beforeAll(async () => {
    service = await startCampaigns({ env: { LANEWAY_FILES_URL: address }, rate: 200 })
  })
  afterAll(() => service?.close())

  async function uploaded(content: string) {
    const { id } = await createFolder(service.redis, service.tenant.account, { name: `f${Math.random()}` })
    const form = new FormData()
    form.set('folder_id', String(id))
    form.set('file', new Blob([content]), 'note.txt')
    return (await service.tenant.apiWith('gallery')).post(`${GALLERY}/files`, form)
  }

  test('serves a gallery file whole and by range', async () => {
    const answer = await uploaded('0123456789')
    expect(answer.status).toBe(200)
    const { url } = JSON.parse(answer.text).data
    const whole = await fetch(url)
    expect([whole.status, await whole.text(), whole.headers.get('content-length')]).toEqual([200, '0123456789', '10'])
    const part = await fetch(url, { headers: { range: 'bytes=2-4' } })
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([206, '234', 'bytes 2-4/10'])
    const beyond = await fetch(url, { headers: { range: 'bytes=20-' } })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10'])
    expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe('10')
  })

  /** How many have been sent, whatever became of them since. */
  async function gone(id: string): Promise<number> {
    const { progress } = await service.show(id)
    return Number(progress.sent) + Number(progress.delivered) + Number(progress.read)
  }

  test('sends a campaign of uploaded rows to everybody once, through an outage of the bucket', async () => {
    const id = await service.create({ rows: {} })
    const people = Array.from({ length: 1_500 }, (_, i) => `${4_915_200_000_000 + i},Ann`)
    expect((await service.upload(id, `phone,name\n${people.join('\n')}\n`)).status).toBe(200)
    await service.move(id, 'preflight')
    await eventually(async () => (await service.show(id)).state === 'ready', 'it is checked')
    await service.move(id, 'start')
    await eventually(async () => (await gone(id)) >= 200, 'it is under way')
    await s3.stop()
    const refused = await uploaded('while it is away')
    expect([refused.status, JSON.parse(refused.text).error.code]).toEqual([503, 'unavailable'])
    await s3.start()
    await eventually(async () => (await service.show(id)).state === 'done', 'it is done', 60_000)
    expect(await gone(id)).toBe(1_500)
    expect((await service.show(id)).progress.total).toBe(1_500)
  })

  test('stores no file on its own disk', () => {
    const { dataDir } = service.config
    for (const name of ['gallery', 'campaigns']) expect(existsSync(join(dataDir, name))).toBe(false)
    expect(readdirSync(join(dataDir, 'incoming'))).toEqual([])
  })
})
