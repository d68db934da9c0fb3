// Pins: the reason with which the circuit breaker pauses a campaign names the most frequent of the codes that it counts.
// Real: Redis and its scripts.
import { expect, test } from 'vitest'
import { mostFrequentCode } from '../../src/campaigns/fan-out/frequent-code.ts'
import { type MessageId, newUlid } from '../../src/kernel/message-id.ts'
import { recordStatus, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import type { CampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { WORKER_LATE } from '../../src/model/messages/outcome.ts'
import { recordLost, workerLost } from '../../src/model/messages/own-problems.ts'
import { createCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { withOwnRedis } from '../support/own-redis.ts'

const LANE = 3
const definition = {
  sender: '1',
  template: { name: 't', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}
const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: 100_000 }

let redis: Redis
withOwnRedis(async (own) => {
  redis = own
})

async function running(): Promise<CampaignId> {
  const id = await createCampaign(redis, { account: 1, lane: LANE, definition }, Date.now())
  for (const move of ['check', 'pass'] as const) await moveCampaign(redis, id, move, 60_000)
  await moveCampaign(redis, id, 'start', 60_000, { begins: true })
  return id
}

/** So many messages of the campaign, each claimed and then ended like this. */
async function ending(campaign: CampaignId, count: number, end: (id: MessageId) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const id = { lane: LANE, ulid: newUlid(Date.now()) }
    const message = {
      ...({ to: '4915112345678', type: 'template', text: '', class: 'campaign' } as const),
      ...{ validUntil: Date.now() + 60_000, campaign: undefined, run: campaign.number },
    }
    await claim(redis, id, 'AAAAAA', message, times)
    await end(id)
  }
}

const unproven = (code: string) => (id: MessageId) =>
  setUnconfirmed(redis, id, 'AAAAAA', { problem: { code, sentence: 'No answer.' }, evidenceMs: 60_000 })
const refused = (code: string) => (id: MessageId) =>
  recordStatus(redis, id, 'AAAAAA', 'failed', { problem: { code, sentence: 'No.' } })

test('codes of a late or dead worker, and those of a recipient, are not named, however frequent', async () => {
  const campaign = await running()
  for (const code of [WORKER_LATE, workerLost.code, recordLost.code]) await ending(campaign, 3, unproven(code))
  await ending(campaign, 3, refused('131026'))
  expect(await mostFrequentCode(redis, campaign)).toBeUndefined()
  await ending(campaign, 1, unproven('timeout'))
  expect(await mostFrequentCode(redis, campaign)).toBe('no code of WhatsApp (timeout)')
  await ending(campaign, 2, refused('131000'))
  expect(await mostFrequentCode(redis, campaign)).toBe('something went wrong at WhatsApp (code 131000)')
})

test('codes of another campaign on the lane are not named', async () => {
  const [campaign, other] = [await running(), await running()]
  await ending(other, 3, refused('131000'))
  await ending(campaign, 1, unproven('reset'))
  expect(await mostFrequentCode(redis, campaign)).toBe('no code of WhatsApp (reset)')
})
