// Pins: an upload is taken whole or not at all, by whomever it is made and however long it takes; no file of rows holds a
// worker, neither by its shape nor by killing it.
// Real: Redis, HTTP, producer, worker, files. Nothing is sent.

import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseCampaignId } from '../../src/campaigns/campaign-id.ts'
import { uploadRecipients } from '../../src/campaigns/commands/upload-recipients.ts'
import { purgeCampaignFiles } from '../../src/campaigns/fan-out/purge-files.ts'
import { preflight } from '../../src/campaigns/preflight/preflight.ts'
import { activeCampaigns, findCampaign, notePreflightStarts } from '../../src/campaigns/store/campaigns.ts'
import { campaignFolder } from '../../src/campaigns/store/files.ts'
import { readRows } from '../../src/campaigns/store/rows.ts'
import { openFolder } from '../../src/files/folder.ts'
import { flowing } from '../../src/producer/flowing.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { campaignRecord } from '../support/state/campaigns.ts'
import { eventually } from '../support/wait.ts'

// A busy machine is slow, and the limits are no promise of speed.
let service: CampaignService

beforeAll(async () => {
  service = await startCampaigns({ worker: false })
})
afterEach(() => service.stopWorker())
afterAll(() => service?.close())

const idOf = (name: string) => {
  const id = parseCampaignId(name)
  if (!id) throw new Error(name)
  return id
}
const folderOf = (name: string) => join(service.config.dataDir, campaignFolder(idOf(name)))
const filesOf = (name: string) => readdirSync(folderOf(name))
/** What is being received or written. */
const drafts = () => {
  const folder = openFolder(service.config.dataDir).drafts
  return existsSync(folder) ? readdirSync(folder) : []
}
const checked = (name: string) =>
  eventually(async () => {
    const now = await service.show(name)
    return now.state === 'checking' ? undefined : now
  }, `${name} is checked`)

describe('of two uploads at once', () => {
  test('the first that is whole wins, the other is refused with 409, and the record names a file that is there', async () => {
    const id = await service.create({ rows: {} })
    let goOn = () => {}
    const waits = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const body = new ReadableStream<Uint8Array>({
      async start(stream) {
        stream.enqueue(new TextEncoder().encode('phone,name\n'))
        await waits
        stream.enqueue(new TextEncoder().encode('4915201000001,Ann\n'))
        stream.close()
      },
    })
    const headers = { authorization: `Bearer ${service.tenant.apiKey}`, 'content-type': 'text/csv' }
    const slow = fetch(`${service.url}/campaigns/${id}/rows`, { method: 'POST', headers, body, duplex: 'half' })
    await eventually(async () => drafts().length === 1, 'the first one is on its way')
    expect((await service.upload(id, 'phone,name\n4915201000002,Bob\n')).status).toBe(200)
    goOn()
    const late = await slow
    const answer = JSON.parse(await late.text())
    expect([late.status, answer.error.code]).toEqual([409, 'rows_replaced'])
    const { rows_file } = (await service.record(id)) ?? {}
    expect(filesOf(id)).toEqual([rows_file])
    expect(drafts()).toEqual([])
  })

  test('a preflight takes none away that is under way', async () => {
    const id = await service.create({ rows: {} })
    await service.upload(id, 'phone,name\n4915201000001,Ann\n')
    const campaign = await service.record(id)
    if (!campaign) throw new Error(id)
    let goOn = () => {}
    const waits = new Promise<void>((resolve) => {
      goOn = resolve
    })
    async function* rows() {
      yield Buffer.from('phone,name\n')
      await waits
      yield Buffer.from('4915201000002,Bob\n')
    }
    const late = uploadRecipients(
      { redis: service.redis, files: openFolder(service.config.dataDir), ...service.config },
      campaign,
      { format: 'csv', bytes: rows() },
      1_000,
    )
    late.catch(() => {})
    await service.startWorker()
    await service.move(id, 'preflight')
    expect((await checked(id)).preflight?.recipients).toBe(1)
    expect(drafts()).toHaveLength(1)
    goOn()
    await expect(late).rejects.toMatchObject({ code: 'rows_replaced' })
    const now = await service.record(id)
    expect(filesOf(id).sort()).toEqual([now?.rows_file, now?.snapshot].sort())
  })
})

test('what a crash has left in a folder is removed after a day, and what is named or young is not', async () => {
  const id = await service.create({ rows: {} })
  await service.upload(id, 'phone,name\n4915201000001,Ann\n')
  const folder = folderOf(id)
  const files = openFolder(service.config.dataDir)
  const [half, young, list] = [`${files.drafts}/half`, `${files.drafts}/young`, `${folder}/recipients-x`]
  for (const file of [half, young, `${folder}/rows-whole.csv`]) writeFileSync(file, 'phone\n')
  mkdirSync(list)
  writeFileSync(`${list}/places.bin`, '')
  const old = new Date(Date.now() - 25 * 3_600_000)
  const { rows_file = '' } = (await service.record(id)) ?? {}
  for (const path of [half, `${list}/places.bin`, `${folder}/rows-whole.csv`, `${folder}/${rows_file}`])
    utimesSync(path, old, old)
  await purgeCampaignFiles({ ...service, files, log: silentLog }, Date.now())
  expect(filesOf(id)).toEqual([rows_file])
  expect(drafts()).toEqual(['young'])
  rmSync(young)
})

describe('a body that is streamed', () => {
  /** A request whose connection has had so many bytes. */
  const requestWith = (socket: { bytesRead: number }, pieces: () => AsyncIterator<Buffer>) =>
    Object.assign(Object.create({}), { socket, iterator: pieces })

  test('may take longer than any limit while it comes', async () => {
    const socket = { bytesRead: 0 }
    async function* pieces() {
      for (let i = 0; i < 8; i += 1) {
        await sleep(50)
        socket.bytesRead += 16 * 1_024
        yield Buffer.from('x')
      }
    }
    const read: string[] = []
    for await (const piece of flowing(requestWith(socket, pieces), 150)) read.push(piece.toString())
    expect(read.join('')).toBe('xxxxxxxx')
  })

  test('is given up with 408 when a byte comes now and then', async () => {
    const socket = { bytesRead: 0 }
    async function* pieces() {
      for (;;) {
        await sleep(10)
        socket.bytesRead += 1
        yield Buffer.from('x')
      }
    }
    const readAll = async () => {
      for await (const _piece of flowing(requestWith(socket, pieces), 50));
    }
    await expect(readAll()).rejects.toMatchObject({ status: 408, code: 'too_slow' })
  })

  test('is given up with 408 once nothing comes any more', async () => {
    async function* pieces() {
      yield Buffer.from('x')
      await new Promise(() => {})
    }
    const reading = flowing(requestWith({ bytesRead: 1 }, pieces), 50)
    expect((await reading.next()).value?.toString()).toBe('x')
    await expect(reading.next()).rejects.toMatchObject({ status: 408, code: 'too_slow' })
  })
})

describe('a file of rows', () => {
  const check = async (rows: string, type = 'text/csv') => {
    const id = await service.create({ rows: {} })
    expect((await service.upload(id, rows, type)).status).toBe(200)
    await service.move(id, 'preflight')
    return checked(id)
  }

  test('with more than 1,000 columns blocks the campaign', async () => {
    await service.startWorker()
    const { state, preflight } = await check(`phone,name${',c'.repeat(29_000)}\n${'1\n'.repeat(30_000)}`)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      { path: 'recipients.rows', message: 'the file has 29002 columns, at most 1000 are allowed' },
    ])
  })

  test.each([
    ['csv', `phone,name${',c'.repeat(900)}\n${'1\n'.repeat(30_000)}`],
    ['ndjson', '{"phone":"1"}\n'.repeat(30_000)],
  ])('of many short rows (%s) lets everything else have its turn', async (format, rows) => {
    const id = { lane: 1, number: 999_999 }
    const folder = join(service.config.dataDir, campaignFolder(id))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `rows.${format}`), rows)
    let [inThisTurn, most, all] = [0, 0, 0]
    const turn = () => {
      inThisTurn = 0
      if (all < 30_000) setImmediate(turn)
    }
    turn()
    for await (const row of readRows(openFolder(service.config.dataDir), id, `rows.${format}`, ['phone'])) {
      all += 1
      inThisTurn += 1
      most = Math.max(most, inThisTurn)
      expect(row.kind).toBe('row')
    }
    expect(all).toBe(30_000)
    expect(most).toBeLessThanOrEqual(600)
  })

  test('that nobody of can be sent to takes little room: the first 10,000 are explained, the others counted', async () => {
    await service.startWorker()
    const { id, preflight } = await check('{"phone":"1"}\n'.repeat(12_000), 'application/x-ndjson')
    expect(preflight?.refused.number).toBe(12_000)
    const { text } = await service.request('GET', `/campaigns/${id}/refused`)
    const lines = text.trimEnd().split('\n')
    expect(lines).toHaveLength(10_002)
    expect(lines.at(-1)).toBe(',,more,2000 more were left out and are not listed')
  })
})

describe('a preflight', () => {
  const inChecking = async () => {
    const id = await service.create({ rows: {} })
    await service.upload(id, `phone,name\n${'4915201000001,Ann\n'.repeat(5_000)}`)
    await service.move(id, 'preflight')
    const { epoch = 0 } = (await service.record(id)) ?? {}
    return { id, epoch }
  }
  const deps = () => ({
    redis: service.redis,
    files: openFolder(service.config.dataDir),
    config: service.config,
    log: silentLog,
  })
  const never = new AbortController().signal

  test('whose worker died three times blocks the campaign with the reason, and may be asked for once more', async () => {
    const { id, epoch } = await inChecking()
    await notePreflightStarts(service.redis, { ...idOf(id), epoch }, 3)
    expect(await preflight(deps(), idOf(id), epoch, never)).toBe('over')
    const { state, preflight: found } = await service.show(id)
    expect(state).toBe('blocked')
    expect(found?.problems[0]?.message).toMatch(/^the preflight was started 3 times and never came to its end/)
    await service.startWorker()
    await service.move(id, 'preflight')
    expect((await checked(id)).state).toBe('ready')
  })

  test('that is told to stop goes back to the queue at once, which counts as no death, and leaves no file', async () => {
    const { id, epoch } = await inChecking()
    const stopping = new AbortController()
    const ends = preflight(deps(), idOf(id), epoch, stopping.signal)
    await eventually(async () => drafts().length === 1, 'it has begun its list')
    stopping.abort()
    expect(await ends).toBe('again')
    const now = await service.record(id)
    expect(now).toMatchObject({ state: 'checking', preflight_starts: 0 })
    expect([filesOf(id), drafts()]).toEqual([[now?.rows_file], []])
  })

  test('of a campaign whose record is broken takes it out of the hands of the workers', async () => {
    const { id } = await inChecking()
    await campaignRecord(service.redis, idOf(id)).change({ definition: '{}' })
    await service.startWorker()
    await eventually(
      async () => (await activeCampaigns(service.redis)).every((each) => each.id.number !== idOf(id).number),
      'nobody looks after it any more',
    )
    await expect(findCampaign(service.redis, idOf(id))).rejects.toThrow('is broken')
  })
})
