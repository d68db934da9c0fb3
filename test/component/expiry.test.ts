// Pins: files leave the trash for good and campaigns that nobody starts are cancelled once their time is over, neither
// sooner; content goes when its last file has gone, and not while an account has it. Real: Redis, files, producer. Stood in
// for: the passing of months, by times that are written as if they were over.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { expireAll } from '../../src/admin/expiry.processor.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { contentPath } from '../../src/gallery/content.ts'
import { addFile, findFile, findFileByToken, keptBytes, restoreFile, trashFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { contentWithoutFile, galleryOf } from '../support/state/accounts.ts'
import { campaignRecord, campaignsOf } from '../support/state/messages.ts'

const DAY_MS = 86_400_000
const config = () => ({ ...service.config, retentionMs: 30 * DAY_MS, trashMs: 30 * DAY_MS, draftMs: 90 * DAY_MS })

let service: CampaignService
let files: ReturnType<typeof openFolder>
let queues: LaneQueues
beforeAll(async () => {
  service = await startCampaigns({ worker: false })
  files = openFolder(service.config.dataDir)
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const look = (nowMs = Date.now()) =>
  expireAll({ redis: service.redis, queues, files, config: config(), log: silentLog }, nowMs)
const isThere = (hash: string): boolean => existsSync(join(service.config.dataDir, contentPath(hash)))

async function newFile(account: number, content: string) {
  const folder = await createFolder(service.redis, account, { name: `folder ${content}` })
  const draft = await receive(files, [Buffer.from(content)])
  return addFile(service.redis, files, account, folder.id, 'note.txt', draft)
}

/** Puts it into the trash as if that had been days ago. */
async function trashed(account: number, id: number, days: number): Promise<void> {
  await trashFile(service.redis, account, id)
  const at = (Date.now() - days * DAY_MS) * 1_000
  await galleryOf(service.redis, account)
    .file(id)
    .change({ deleted_at: String(at) })
}

test('a file is removed with its address and its bytes after its time in the trash; a younger one stays', async () => {
  const { account } = service.tenant
  const [old, young] = [await newFile(account, 'old enough'), await newFile(account, 'too young')]
  await trashed(account, old.id, 31)
  await trashed(account, young.id, 29)
  const before = await keptBytes(service.redis, account)
  await look()
  expect(await findFile(service.redis, account, old.id)).toBeUndefined()
  expect(await findFileByToken(service.redis, old.token)).toBeUndefined()
  expect(await keptBytes(service.redis, account)).toBe(before - 'old enough'.length)
  expect(await restoreFile(service.redis, account, young.id)).toMatchObject({ id: young.id })
  // No upload of that time may be under way any more.
  expect(isThere(old.hash)).toBe(true)
  await look(Date.now() + 3_700_000)
  expect([isThere(old.hash), isThere(young.hash)]).toEqual([false, true])
})

test('content that another account has, or that was uploaded again meanwhile, stays when its file is removed', async () => {
  const { account } = service.tenant
  const other = await service.addTenant()
  const [mine, theirs] = [await newFile(account, 'shared'), await newFile(other.account, 'shared')]
  const again = await newFile(account, 'comes again')
  await trashed(account, mine.id, 31)
  await trashed(account, again.id, 31)
  await look()
  expect(await contentWithoutFile(service.redis).timeOf(again.hash)).not.toBeNull()
  await newFile(account, 'comes again')
  await look(Date.now() + 3_700_000)
  expect([isThere(theirs.hash), isThere(again.hash)]).toEqual([true, true])
  expect(await findFile(service.redis, other.account, theirs.id)).toMatchObject({ hash: mine.hash })
})

test('on a machine whose clock is hours behind, files that an upload may still need stay for their hour', async () => {
  const { account } = service.tenant
  const gone = await newFile(account, 'by a slow clock')
  await trashed(account, gone.id, 31)
  const nowMs = await redisNowMs(service.redis)
  const real = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => real() - 3 * 3_600_000)
  try {
    await look(nowMs)
  } finally {
    vi.restoreAllMocks()
  }
  expect(await findFile(service.redis, account, gone.id)).toBeUndefined()
  expect(isThere(gone.hash)).toBe(true)
})

const idOf = (id: string) => parseCampaignId(id) ?? { lane: 0, number: 0 }

/** As if its last change had been days ago. */
async function aged(id: string, days: number): Promise<void> {
  const at = Date.now() - days * DAY_MS
  await campaignRecord(service.redis, idOf(id)).change({ created_at: at, beat: at })
  await campaignsOf(service.redis, service.tenant.account).put(at, id)
}
const stateOf = async (id: string) => (await findCampaign(service.redis, idOf(id)))?.state

test('an untouched draft is cancelled after its time; one that was changed since, or is scheduled, is not', async () => {
  const [old, young, changed, scheduled] = await Promise.all([1, 2, 3, 4].map(() => service.create({ rows: {} })))
  await aged(old ?? '', 91)
  await aged(young ?? '', 89)
  await aged(changed ?? '', 91)
  await service.upload(changed ?? '', 'phone,name\n+447700900123,Ada\n')
  await aged(scheduled ?? '', 91)
  await campaignRecord(service.redis, idOf(scheduled ?? '')).change({ state: 'scheduled' })
  await look()
  expect(await Promise.all([old, young, changed, scheduled].map((id) => stateOf(id ?? '')))).toEqual([
    'cancelled',
    'draft',
    'draft',
    'scheduled',
  ])
  expect(await campaignRecord(service.redis, idOf(old ?? '')).livesMs()).toBeGreaterThan(29 * DAY_MS)
})
