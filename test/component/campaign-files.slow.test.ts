// Pins: an upload is taken whole or not at all, by whomever it is made and however long it takes; no file of rows holds a
// worker, neither by its shape nor by killing it.
// Real: Redis, HTTP, producer, worker, files. Nothing is sent.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { uploadRecipients } from '../../src/campaigns/commands/upload-rows.ts'
import { purgeCampaignFiles } from '../../src/campaigns/expiry/file-purge.ts'
import { preflight } from '../../src/campaigns/preflight/preflight.ts'
import { openFolder } from '../../src/files/folder.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { flowing } from '../../src/producer/overload/slow-uploads.ts'
import { activeCampaigns } from '../../src/recipients/active-campaigns.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { eraseInRows, findInRows } from '../../src/recipients/person-in-rows.ts'
import { notePreflightStarts } from '../../src/recipients/preflight-starts.ts'
import { readRows } from '../../src/recipients/rows.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { slowness } from '../support/machine.ts'
import { campaignRecord } from '../support/state/messages.ts'
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
  test('the first complete one wins, the other is refused with 409, and the record names a file that exists', async () => {
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

  test('a preflight removes no upload that is under way', async () => {
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

test('what a crash left in a folder is removed after a day; files that are named in a record or young stay', async () => {
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

  test('may take longer than any time limit as long as data comes', async () => {
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

  test('is refused with 408 when only a byte comes now and then', async () => {
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

  test('is refused with 408 once nothing comes any more', async () => {
    async function* pieces() {
      yield Buffer.from('x')
      await new Promise(() => {})
    }
    const reading = flowing(requestWith({ bytesRead: 1 }, pieces), 50)
    expect((await reading.next()).value?.toString()).toBe('x')
    await expect(reading.next()).rejects.toMatchObject({ status: 408, code: 'too_slow' })
  })
})

test('the rest of an upload that is refused early is read, and the connection stays usable', async () => {
  const id = await service.create({ rows: {} })
  const body = `phone,name\n\u00E9\n${'x'.repeat(100_000)}`
  const bytes = Buffer.concat([Buffer.from(body), Buffer.from([0xe9]), Buffer.alloc(800_000, 'x')])
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  let answers = ''
  socket.on('data', (piece: Buffer) => {
    answers += piece.toString()
  })
  const head = [
    ...[`POST /campaigns/${id}/rows HTTP/1.1`, 'Host: x', 'Content-Type: text/csv'],
    ...[`Authorization: Bearer ${service.tenant.apiKey}`, `Content-Length: ${bytes.length}`],
  ]
  try {
    socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]))
    await eventually(async () => answers.includes('HTTP/1.1 400'), 'the rows are refused')
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually(async () => answers.includes('HTTP/1.1 200'), 'the next request is answered')
  } finally {
    socket.destroy()
  }
})

describe('a person in an uploaded file', () => {
  const inFile = async (rows: string) => {
    const id = await service.create({ rows: {} })
    expect((await service.upload(id, rows, 'application/x-ndjson')).status).toBe(200)
    const { rows_file = '' } = (await service.record(id)) ?? {}
    const found: { offset: number; length: number }[] = []
    const files = openFolder(service.config.dataDir)
    for await (const span of findInRows(files, idOf(id), rows_file, 'phone', '4915201000001')) found.push(span)
    return found
  }

  test('is found in its first line, also after a byte order mark', async () => {
    expect(await inFile('\uFEFF{"phone":"4915201000001"}\n{"phone":"4915201000002"}\n')).toMatchObject([{ offset: 0 }])
  })

  test('is found after a line of many megabytes, in the time that reading the file takes', async () => {
    const long = `{"name":"${'x'.repeat(64 * 1024 * 1024)}"}\n`
    const begun = performance.now()
    expect(await inFile(`${long}{"phone":"+4915201000001"}`)).toEqual([{ offset: long.length, length: 26 }])
    // Put together anew with each piece, it takes a minute.
    expect(performance.now() - begun).toBeLessThan(15_000 * (await slowness()))
  })
})

test('a person who is in every row of a file is erased from each', async () => {
  const id = await service.create({ rows: {} })
  // Twice the piece in which a file is read.
  const rows = 5_000
  expect((await service.upload(id, `phone,name\n${'"4915201000001","A\nB"\n'.repeat(rows)}`)).status).toBe(200)
  const { rows_file = '' } = (await service.record(id)) ?? {}
  const files = openFolder(service.config.dataDir)
  const read = vi.spyOn(files, 'read')
  expect(await eraseInRows(files, idOf(id), rows_file, 'phone', '4915201000001')).toBe(rows)
  // Once to find them and once to write: five million of them, kept and read one by one, were 10 minutes and a gigabyte.
  expect(read).toHaveBeenCalledTimes(2)
  const left = readFileSync(join(folderOf(id), rows_file), 'utf8')
  expect(left.replace(/ /g, '')).toBe(`phone,name\n${'\n\n'.repeat(rows)}`)
})

describe('a file of rows', () => {
  /** Ten times what one turn may take. */
  const MANY = 6_000
  const check = async (rows: string, type = 'text/csv') => {
    const id = await service.create({ rows: {} })
    expect((await service.upload(id, rows, type)).status).toBe(200)
    await service.move(id, 'preflight')
    return checked(id)
  }

  test('with more than 1,000 columns blocks the campaign', async () => {
    await service.startWorker()
    const { state, preflight } = await check(`phone,name${',c'.repeat(29_000)}\n${'1\n'.repeat(3_000)}`)
    expect(state).toBe('blocked')
    expect(preflight?.problems).toEqual([
      { path: 'recipients.rows', message: 'the file has 29002 columns, at most 1000 are allowed' },
    ])
  })

  test.each([
    ['csv', `phone,name${',c'.repeat(900)}\n${'1\n'.repeat(MANY)}`],
    ['ndjson', '{"phone":"1"}\n'.repeat(MANY)],
  ])('of many short rows (%s) lets everything else take its turn', async (format, rows) => {
    const id = { lane: 1, number: 999_999 }
    const folder = join(service.config.dataDir, campaignFolder(id))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `rows.${format}`), rows)
    let [inThisTurn, most, all] = [0, 0, 0]
    const kinds = new Set<string>()
    const turn = () => {
      inThisTurn = 0
      if (all < MANY) setImmediate(turn)
    }
    turn()
    for await (const row of readRows(openFolder(service.config.dataDir), id, `rows.${format}`, ['phone'])) {
      all += 1
      inThisTurn += 1
      most = Math.max(most, inThisTurn)
      kinds.add(row.kind)
    }
    expect([...kinds]).toEqual(['row'])
    expect(all).toBe(MANY)
    expect(most).toBeLessThanOrEqual(600)
  })

  test('in which nobody can be sent to takes little room: the first 10,000 are explained, the others counted', async () => {
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
    uploadedFor: async () => ({ kind: 'ready' as const }),
  })
  const never = new AbortController().signal

  test('whose worker died three times blocks the campaign with the reason, and may be requested once more', async () => {
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

  test('that is asked to stop goes back to the queue at once, counts as no death, and leaves no file', async () => {
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

  test('of a campaign whose record is broken is dropped by the workers', async () => {
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
