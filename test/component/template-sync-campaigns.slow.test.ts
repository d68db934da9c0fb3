// Pins: what WhatsApp's list of templates means for campaigns: one that names a deleted template keeps it, as deleted; running
// ones stop when theirs may not be sent any more. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setSenderProvider } from '../../src/accounts/senders.ts'
import { askForSync, dueSyncs, findTemplateSync } from '../../src/accounts/template-syncs.ts'
import { findTemplate } from '../../src/accounts/templates.ts'
import { type CampaignService, SPRING, startCampaigns } from '../support/campaigns.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'

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

test('a deleted template is kept as deleted while a campaign uses it, and its campaigns stop', async () => {
  await setSenderProvider(service.redis, service.lane, { wabaId: '4711' })
  const other = { ...SPRING, name: 'other' }
  await sync([SPRING, other])
  // More than it can have sent by the time that the sync ends, on however slow a machine.
  const { tag } = await service.addPeople(4_000)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  expect(await sync([other])).toMatchObject({ removed: 0, kept_deleted: 1 })
  expect(await status()).toBe('DELETED')
  const { state, reason } = await service.show(id)
  // In the words of the sync or of the worker that sends: on a slow machine the worker may come upon it first.
  expect([state, reason]).toEqual([
    'paused',
    expect.stringMatching(
      /^template_paused: (WhatsApp says that the template spring \(en_US\) is DELETED|The template spring is DELETED, not APPROVED)\.$/,
    ),
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

test('webhooks about templates make the list be read again soon, but not once for each', async () => {
  const { account } = service.tenant
  const synced = { account, wabaId: '4711' }
  const change = {
    field: 'message_template_components_update',
    value: { message_template_id: 1, message_template_name: 'other', message_template_language: 'en_US' },
  }
  expect((await bringWebhook(service.url, [change], { waba: '4711' })).status).toBe(200)
  expect(await dueSyncs(service.redis, Date.now() + 2_000, 100)).not.toContainEqual(synced)
  expect(await dueSyncs(service.redis, Date.now() + 310_000, 100)).toContainEqual(synced)
})
