// Pins: a process that dies while it creates something leaves nothing that is kept for ever and that nobody finds; and lists
// of what is kept shrink by themselves. Real: Redis, files.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createAccount, findAccount } from '../../src/accounts/accounts.ts'
import { listCampaigns, trimCampaigns } from '../../src/campaigns/store/list.ts'
import { createEndpoint, findEndpoint, newEndpointId } from '../../src/events/store/endpoints.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { contentPath } from '../../src/gallery/content.ts'
import { addFile, listFiles, removeLooseTokens } from '../../src/gallery/files.ts'
import { createFolder, findFolder } from '../../src/gallery/folders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { createCampaign, findCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { dyingAfter } from '../support/redis.ts'
import {
  accountRecord,
  accountsKnown,
  contentWithoutFile,
  endpointRecord,
  endpointsOf,
  fileTokens,
  galleryOf,
} from '../support/state/accounts.ts'
import type { StoredRecord } from '../support/state/handles.ts'
import { campaignRecord, campaignsOf } from '../support/state/messages.ts'

let lanes: LaneRedis
let redis: Redis
beforeAll(async () => {
  lanes = await startLaneRedis()
  redis = lanes.redis
})
afterAll(() => lanes?.close())

const files = openFolder(mkdtempSync(join(tmpdir(), 'laneway-data-')))
const seal = createSeal(['a key of at least thirty-two characters'])
const definition = {
  sender: 'x',
  template: { name: 'hi', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}
const url = 'https://example.com/hook'

interface Kind {
  make: (by: Redis) => Promise<unknown>
  record: StoredRecord
  isListed: () => Promise<boolean>
  find: () => Promise<unknown>
}

/** What creates one, its record, whether it is on its list, and what is found of it. */
const KINDS: Record<string, (n: number) => Kind> = {
  account: (n) => ({
    make: (by) => createAccount(by, 'shop', 1_000 + n),
    record: accountRecord(redis, 1_000 + n),
    isListed: () => accountsKnown(redis).has(1_000 + n),
    find: () => findAccount(redis, 1_000 + n),
  }),
  endpoint: (n) => {
    const id = newEndpointId()
    return {
      make: (by) => createEndpoint(by, 2_000 + n, newEndpointFields.parse({ url }), { seal, nowMs: Date.now(), id }),
      record: endpointRecord(redis, 2_000 + n, id),
      isListed: async () => (await endpointsOf(redis, 2_000 + n).timeOf(id)) !== null,
      find: () => findEndpoint(redis, 2_000 + n, id),
    }
  },
  campaign: (n) => ({
    make: (by) => createCampaign(by, { account: 1, lane: 1, number: 5_000 + n, definition }, Date.now()),
    record: campaignRecord(redis, { lane: 1, number: 5_000 + n }),
    isListed: async () => (await campaignsOf(redis, 1).timeOf(`cmp_1_${5_000 + n}`)) !== null,
    async find() {
      const read = await findCampaign(redis, { lane: 1, number: 5_000 + n })
      const shown = []
      for await (const page of listCampaigns(redis, 1, { offset: 0, limit: 1_000 })) shown.push(...page)
      expect(shown.some(({ number }) => number === 5_000 + n)).toBe(read !== undefined)
      return read
    },
  }),
  folder: (n) => ({
    make: (by) => createFolder(by, 3_000, { name: 'x', id: 6_000 + n }),
    record: galleryOf(redis, 3_000).folder(6_000 + n),
    isListed: async () => (await galleryOf(redis, 3_000).folders.timeOf(6_000 + n)) !== null,
    find: () => findFolder(redis, 3_000, 6_000 + n),
  }),
}

test.each(Object.entries(KINDS))(
  'a crash while an %s is created leaves either a record that is found and stays, or an unlisted one that expires',
  async (_kind, kindOf) => {
    for (let commands = 0, died = true; died; commands += 1) {
      const { make, record, isListed, find } = kindOf(commands)
      const dying = await dyingAfter(lanes.server.url, commands)
      died = await make(dying).then(
        () => false,
        () => true,
      )
      dying.disconnect()
      const isKept = (await record.livesMs()) === -1
      expect((await find()) !== undefined, `after ${commands} commands`).toBe(isKept)
      if (isKept) expect(await isListed()).toBe(true)
      // A repeat makes what is missing, and it stays.
      await make(redis)
      expect([await isListed(), await record.livesMs(), await record.field('unlisted')]).toEqual([true, -1, null])
    }
  },
)

test('repeating the request that made a campaign does not extend the life of an ended one', async () => {
  const make = () => createCampaign(redis, { account: 1, lane: 1, number: 4_999, definition }, Date.now())
  const id = await make()
  await moveCampaign(redis, id, 'cancel', 60_000)
  await make()
  expect(await campaignRecord(redis, { lane: 1, number: 4_999 }).livesMs()).toBeGreaterThan(0)
})

test('the token of a file that was never added expires within an hour; that of an added file stays', async () => {
  const account = 4_000
  const folder = await createFolder(redis, account, { name: 'x' })
  let loose = 0
  let orphans = 0
  // On a machine whose clock is hours behind.
  const real = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => real() - 3 * 3_600_000)
  onTestFinished(() => void vi.restoreAllMocks())
  for (let commands = 1, died = true; died; commands += 1) {
    const draft = await receive(files, [Buffer.from(`content ${commands}`)])
    const dying = await dyingAfter(lanes.server.url, commands)
    died = await addFile(dying, files, account, folder.id, 'note.txt', draft).then(
      () => false,
      () => true,
    )
    dying.disconnect()
    const bytesStay = await files.sizeOf(contentPath(draft.hash)).then(Boolean, () => false)
    // Either some file has the bytes, or they are looked for in an hour.
    const hashes = (await listFiles(redis, account, folder.id, 0, 1_000)).map(({ hash }) => hash)
    if (!died) expect(await contentWithoutFile(redis).all()).not.toContain(draft.hash)
    if (bytesStay && !hashes.includes(draft.hash)) {
      orphans += 1
      expect(await contentWithoutFile(redis).all(), `after ${commands} commands`).toContain(draft.hash)
    }
    const tokens = await fileTokens(redis)
    const added = await galleryOf(redis, account).filesIn(folder.id).count()
    loose += tokens > added ? 1 : 0
    await removeLooseTokens(redis, account, (await redisNowMs(redis)) - 3_600_000)
    expect(await fileTokens(redis)).toBe(tokens)
    await removeLooseTokens(redis, account, '+inf')
    expect(await fileTokens(redis), `after ${commands} commands`).toBe(added)
    expect(await galleryOf(redis, account).newTokens.isThere()).toBe(false)
  }
  expect(loose).toBeGreaterThan(0)
  expect(orphans).toBeGreaterThan(0)
})

test('campaigns whose records are gone leave the list of their account even if nobody lists them', async () => {
  const [gone, kept] = await Promise.all(
    [0, 1].map(() => createCampaign(redis, { account: 9, lane: 1, definition }, Date.now())),
  )
  await campaignRecord(redis, { lane: 1, number: gone?.number ?? 0 }).remove()
  await trimCampaigns(redis, 9)
  expect(await campaignsOf(redis, 9).all()).toEqual([`cmp_1_${kept?.number}`])
})
