// A lane of 80 a second is resumed after a night: what waits on it has expired, or belongs to a campaign that was cancelled
// meanwhile, and behind all that stands a message that should leave.

import type { SendPayload } from '../../../src/jobs/send.ts'
import { messageId, newUlid } from '../../../src/kernel/message-id.ts'
import { laneBacklogKeys } from '../../../src/lanes/bullmq/layout.ts'
import { readMessage } from '../../../src/lanes/messages/records.ts'
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { createCampaign, moveCampaign } from '../../../src/recipients/campaigns.ts'
import { requeueableKey } from '../../../src/redis/keys.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Figure, onRig, type Scenario, timeLimit } from '../scenario.ts'
import type { Tenant } from '../tenant.ts'
import { eventually } from '../wait.ts'

const LIMIT_MS = 2_000
const HOUR_MS = 3_600_000
/** Recipients of what must not leave: nobody else is written to there. */
const NOBODY = 90

const image = { link: 'https://example.com/a.jpg' }
const definition = {
  sender: '1',
  template: { name: 'proof_news', language: { code: 'en_US' }, components: [] },
  recipients: { tags: [1], except: [] },
}

export const expiredBacklog: Scenario = {
  name: 'expired-backlog',
  promise: 'What must not leave holds nobody up, and what has expired is known to have.',
  run: (run) => {
    const tenants = [false, true].map((campaign) => {
      return { wire: 'cloud-api', policy: 'at_least_once', rate: 80, campaign } as const
    })
    return onRig(run, { workers: 3, tenants }, async (rig) => {
      const count = run.full ? 10_000 : 2_000
      const queues = openLaneQueues(rig.store)
      const figures: Figure[] = []
      const violations: string[] = []
      for (const [n, tenant] of rig.tenants.entries()) {
        await queues.pause(tenant.lane)
        const ulids = await stale(rig, tenant, count)
        const [to = ''] = recipientsOf(n, 1)
        await rig.client.post(tenant, [to], 1)
        const behind = tenant.campaign ? 'of a cancelled campaign' : 'expired'
        run.say(`${count} ${behind} on the lane, and one behind them`)
        const resumedAt = Date.now()
        await queues.resume(tenant.lane)
        await eventually(async () => (await rig.chatProduct.ledger()).some((sent) => sent.to === to), 60_000, 20)
        const sent = (await rig.chatProduct.ledger()).find((each) => each.to === to)
        const { waiting, prioritized } = laneBacklogKeys(tenant.lane)
        const isCleared = async () => (await rig.store.llen(waiting)) + (await rig.store.zcard(prioritized)) === 0
        await eventually(isCleared, 60_000, 20)
        figures.push(
          {
            what: `a message behind ${count} ${behind} arrived after`,
            value: sent ? sent.atMs - resumedAt : Number.POSITIVE_INFINITY,
            unit: 'ms',
            atMost: timeLimit(run, LIMIT_MS),
          },
          { what: `${count} ${behind} were cleared within`, value: Date.now() - resumedAt, unit: 'ms' },
        )
        if (tenant.campaign) continue
        await eventually(async () => (await rig.store.zcard(requeueableKey(tenant.lane))) === count, 10_000)
        const records = await Promise.all(ulids.map((ulid) => readMessage(rig.store, { lane: tenant.lane, ulid })))
        const untold = records.filter((record) => record?.state !== 'expired' || !record.history.startsWith('x'))
        if (untold.length > 0) violations.push(`${untold.length} expired messages have no record that says so`)
      }
      await queues.close()
      const { judgement, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const wrong = ledger.length - rig.tenants.length
      if (wrong > 0) violations.push(`${wrong} messages left that must not`)
      return { judgement, figures, violations }
    })
  },
}

/** Lays messages on the lane that must not leave any more; returns their ULIDs. */
async function stale(rig: Rig, tenant: Tenant, count: number): Promise<string[]> {
  const campaign = await createCampaign(rig.store, { account: 1, lane: tenant.lane, definition }, Date.now())
  for (const move of ['check', 'pass', 'start', 'cancel'] as const) {
    await moveCampaign(rig.store, campaign, move, HOUR_MS)
  }
  const common = tenant.campaign
    ? ({ class: 'campaign', run: campaign.number, until: Date.now() + HOUR_MS } as const)
    : ({ class: 'transactional', until: Date.now() - 1 } as const)
  const messages = recipientsOf(NOBODY, count).map((to) => {
    const payload: SendPayload = { v: 1, to, content: { type: 'image', image }, ...common }
    return { id: messageId(tenant.lane, newUlid(Date.now())), payload }
  })
  const queues = openLaneQueues(rig.store)
  await queues.addMany(messages)
  await queues.close()
  return messages.map(({ id }) => id.slice(id.lastIndexOf('_') + 1))
}
