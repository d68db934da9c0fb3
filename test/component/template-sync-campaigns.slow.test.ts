// Pins: what WhatsApp's list of templates means for campaigns: one that names a deleted template keeps it, as deleted; running
// ones stop when theirs may not be sent any more. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { setSenderProvider } from '../../src/accounts/store/senders.ts'
import { askForSync, findTemplateSync } from '../../src/accounts/store/template-syncs.ts'
import { findTemplate } from '../../src/accounts/store/templates.ts'
import { type CampaignService, SPRING, startCampaigns } from '../support/campaigns.ts'
import { eventually } from '../support/wait.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns({ rate: 20 })
})
afterAll(() => service?.close())

async function sync(templates: readonly object[]) {
  const body = JSON.stringify({ account: { templates: templates.map((each) => ({ id: '1', ...each })) } })
  await fetch(`${service.simulator.url}/_control`, { method: 'POST', body })
  const synced = { account: service.tenant.account, wabaId: '4711' }
  await askForSync(service.redis, synced, 'person')
  const askedMs = (await findTemplateSync(service.redis, synced)).asked_at ?? 0
  return eventually(async () => {
    const now = await findTemplateSync(service.redis, synced)
    return now.state === 'done' && (now.began_at ?? 0) >= askedMs ? now : undefined
  }, 'the sync ends')
}

const status = async () => (await findTemplate(service.redis, service.tenant.account, 'spring', 'en_US'))?.status

test('a deleted template is kept as deleted while a campaign names it, and its campaigns stop', async () => {
  await setSenderProvider(service.redis, service.lane, { wabaId: '4711' })
  const other = { ...SPRING, name: 'other' }
  await sync([SPRING, other])
  const { tag } = await service.addPeople(200)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  expect(await sync([other])).toMatchObject({ removed: 0, kept_deleted: 1 })
  expect(await status()).toBe('DELETED')
  const { state, reason } = await service.show(id)
  expect([state, reason]).toEqual([
    'paused',
    'template_paused: WhatsApp says that the template spring (en_US) is DELETED.',
  ])
  const refused = await service.request('POST', `/campaigns/${id}/resume`)
  expect(refused.text).toContain('template_not_approved')
  // It is there again, and the campaign goes on.
  await sync([SPRING, other])
  expect(await status()).toBe('APPROVED')
  await service.move(id, 'resume')
  await service.move(id, 'cancel')
  await eventually(async () => (await service.show(id)).state === 'cancelled' || undefined, 'it has ended')
  expect(await sync([other])).toMatchObject({ removed: 1, kept_deleted: 0 })
  expect(await status()).toBeUndefined()
})
