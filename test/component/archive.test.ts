// Pins: the archive that is on Redis does what every archive does. Real: Redis, the queues of lanes, the steps that write.

import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { archiveOf } from '../../src/lanes/archive/archive.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { newMessageOf } from '../../src/lanes/messages/new-message.ts'
import { recordStatus, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { type ArchiveWorld, archiveCases, FAILED_FOR } from '../support/archive-cases.ts'
import { claim } from '../support/claim.ts'
import { audioJob, LONG_TIMES, startLaneRedis } from '../support/lane-redis.ts'
import { jobOf } from '../support/state/lanes.ts'
import { campaignRecord, messageRecord } from '../support/state/messages.ts'

const ACCOUNT = 1
const HOUR_MS = 3_600_000
const problem = { code: FAILED_FOR, sentence: 'It was refused.' }

archiveCases('Redis', async (): Promise<ArchiveWorld> => {
  const store = await startLaneRedis()
  const { redis, queues } = store
  return {
    archive: archiveOf(redis),
    account: ACCOUNT,
    newLane: store.newLane,
    startCampaign: async (lane, number, total) => {
      await campaignRecord(redis, { lane, number }).change({ total, state: 'running' })
    },
    async accept(lane, { to, ageMs = 0, class: of = 'transactional', group, of: place }) {
      const ulid = place
        ? campaignMessageUlid(`cmp_${lane}_${place.campaign}`, place.startedAtMs, place.place, to)
        : newUlid(Date.now() - ageMs)
      const payload = { ...audioJob(), to, class: of, ...(group && { campaign: group }) }
      const id = messageId(lane, ulid)
      await queues.addMany([{ id, payload: { ...payload, ...(place && { run: place.campaign }) } }])
      return { lane, ulid }
    },
    async end(id, how) {
      const job = (await jobOf(redis, messageId(id.lane, id.ulid)))?.data
      if (job === undefined) throw new Error('the message does not wait')
      await claim(redis, id, 'AAAAAA', newMessageOf(job), LONG_TIMES)
      if (how === 'unconfirmed') await setUnconfirmed(redis, id, 'AAAAAA', { problem, evidenceMs: HOUR_MS })
      else await recordStatus(redis, id, 'AAAAAA', how, how === 'failed' ? { problem } : { providerId: 'wamid.x' })
    },
    async receive(lane, from) {
      const id = `wamid.${newUlid(Date.now())}`
      const message = { id, lane, from, type: 'text', text: 'Hi', received_at: Date.now() }
      await storeInbound(redis, ACCOUNT, message, HOUR_MS)
      return id
    },
    expire: async (id) => {
      await messageRecord(redis, id).remove()
    },
    ruin: async (id) => {
      await messageRecord(redis, id).change({ s: '?' })
    },
    close: store.close,
  }
})
