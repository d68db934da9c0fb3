// Pins: campaigns are listed in order, and what is left of those that are not kept any more goes away.
// Real: Redis, HTTP, producer, files.

import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeCampaignFiles } from '../../src/campaigns/expiry/file-purge.ts'
import { openFolder } from '../../src/files/folder.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { campaignRecord } from '../support/state/messages.ts'

let service: CampaignService

beforeAll(async () => {
  service = await startCampaigns({ worker: false })
})
afterAll(() => service?.close())

const idOf = (name: string) => {
  const id = parseCampaignId(name)
  if (!id) throw new Error(name)
  return id
}

async function listed(query = ''): Promise<string[]> {
  const answer = await service.request('GET', `/campaigns${query}`)
  return answer.json().data.map(({ id }: { id: string }) => id)
}

test('the list has the latest campaigns first, in pages, without those whose records are gone', async () => {
  const { tag } = await service.addPeople(1)
  const ids: string[] = []
  for (let i = 0; i < 5; i += 1) ids.unshift(await service.create({ tags: [tag] }))
  expect(await listed()).toEqual(ids)
  expect(await listed('?cursor=1&limit=2')).toEqual(ids.slice(1, 3))
  expect((await service.request('GET', '/campaigns?limit=0')).status).toBe(400)
  await campaignRecord(service.redis, idOf(ids[2] ?? '')).remove()
  const left = ids.filter((_id, i) => i !== 2)
  expect(await listed()).toEqual(left)
  expect(await listed('?cursor=2&limit=1')).toEqual(left.slice(2, 3))
})

test('the list can be filtered by states, page by page', async () => {
  const { tag } = await service.addPeople(1)
  const ids: string[] = []
  for (let i = 0; i < 6; i += 1) ids.unshift(await service.create({ tags: [tag] }))
  const cancelled = ids.filter((_id, i) => i % 2 === 1)
  for (const id of cancelled) await service.move(id, 'cancel')
  expect(await listed('?state=cancelled')).toEqual(cancelled)
  expect(await listed('?state=cancelled&cursor=1&limit=1')).toEqual([cancelled[1]])
  expect((await listed('?state=draft,cancelled')).slice(0, 6)).toEqual(ids)
  expect(await listed('?state=running')).toEqual([])
  const refused = await service.request('GET', '/campaigns?state=over')
  const [detail] = refused.json().error.details
  expect([refused.status, detail.path]).toEqual([400, 'state'])
  expect(detail.message).toContain('got "over"')
})

test('files of a campaign whose record is gone are removed once they are old, and no others', async () => {
  const { redis, config, lane } = service
  const kept = await service.create({ rows: {} })
  expect((await service.upload(kept, 'phone,name\n4915201000001,Ann\n')).status).toBe(200)
  const old = new Date(Date.now() - config.retentionMs - 60_000)
  const folderOf = (number: number) => join(config.dataDir, campaignFolder({ lane, number }))
  const [goneAndOld, goneAndYoung] = [folderOf(900_001), folderOf(900_002)]
  for (const folder of [goneAndOld, goneAndYoung]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'rows-1.csv'), 'phone')
  }
  const keptFolder = join(config.dataDir, campaignFolder(idOf(kept)))
  for (const folder of [goneAndOld, keptFolder]) {
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old)
  }
  await purgeCampaignFiles({ redis, files: openFolder(config.dataDir), config, log: silentLog }, Date.now())
  expect([goneAndOld, goneAndYoung, keptFolder].map((folder) => existsSync(folder))).toEqual([false, true, true])
})

test('another upload replaces the first and leaves nothing of it', async () => {
  const id = await service.create({ rows: {} })
  await service.upload(id, 'phone,name\n4915201000001,Ann\n')
  const first = (await service.record(id))?.rows_file ?? ''
  await service.upload(id, '{"phone":"4915201000002","name":"Bob"}\n', 'application/x-ndjson')
  const second = (await service.record(id))?.rows_file ?? ''
  const folder = join(service.config.dataDir, campaignFolder(idOf(id)))
  expect([existsSync(`${folder}/${first}`), existsSync(`${folder}/${second}`)]).toEqual([false, true])
  expect(second).toMatch(/\.ndjson$/)
})
