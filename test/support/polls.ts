// Messages that were sent on the partner wire and are to be polled, and workers that poll them, on a Redis of the test.

import { loadConfig } from '../../src/kernel/config.ts'
import type { Log } from '../../src/kernel/log.ts'
import { newUlid } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { partnerApi } from '../../src/providers/partner-api.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { startStatusPolls } from '../../src/worker/recovery/status-polls.ts'
import { silentLog } from './app.ts'
import { claim } from './claim.ts'
import { pollsOn } from './state/messages.ts'

/** What polls of the lanes of one worker; every lane has the same upstream and the rate that `rateOf` says. */
export function startPoller(
  redis: Redis,
  upstream: { url: string; rateOf: (lane: number) => number },
  log: Log = silentLog,
) {
  const agent = createHttpAgent()
  const provider = partnerApi(agent)
  const entryOf = (lane: number) =>
    ({
      sender: {
        id: lane,
        account: 1,
        number: '491700000001',
        name: '',
        provider: 'partner-api',
        base_url: upstream.url,
        token: '',
        phone_number_id: '',
        waba_id: '',
        follow_provider: true,
        marketing_route: 'messages',
        strict_pace: false,
        rate: upstream.rateOf(lane),
        honours_idempotency: false,
        paused_for: '',
        paused_by: '',
        paused_at: 0,
        blocked_at: 0,
        sent_after_block: 0,
        resumed_at: 0,
        portfolio: null,
      },
      provider,
      providerSender: { number: '491700000001', baseUrl: upstream.url, token: '', phoneNumberId: '' },
      repeat: { transactional: 'once', campaign: 'never' },
      stopsTransactional: false,
      bringsEvidence: false,
      rules: { lane },
    }) as const
  const queues = openLaneQueues(redis)
  const polls = startStatusPolls({
    redis,
    config: loadConfig({}),
    log,
    directory: { of: async (lane) => entryOf(lane) },
    queues,
  })
  return {
    ...polls,
    async stop() {
      await polls.stop(5_000)
      await queues.close()
      await agent.destroy()
    },
  }
}

/** Messages of a lane that were sent and are due to be polled, the first one first; the upstream knows them by `to`. */
export async function sentOn(redis: Redis, lane: number, howMany: number): Promise<{ ulid: string; to: string }[]> {
  const messages = Array.from({ length: howMany }, (_, i) => ({
    ulid: newUlid(Date.now() - 10_000),
    to: String(491_700_000_000 + lane * 100_000 + i),
  }))
  const times = { lostAfterMs: 60_000, evidenceWaitMs: 0, retentionMs: 3_600_000 }
  const common = { type: 'audio', text: '', class: 'transactional', campaign: undefined, run: undefined } as const
  await Promise.all(
    messages.map(async ({ ulid, to }) => {
      await claim(redis, { lane, ulid }, 'AAAAAA', { ...common, to, validUntil: Date.now() + 60_000 }, times)
      await recordStatus(redis, { lane, ulid }, 'AAAAAA', 'sent', { providerId: `up-${to}`, firstPollMs: 1 })
    }),
  )
  const due = Date.now() - howMany - 1_000
  await pollsOn(redis, lane).putEach(messages.map(({ ulid }, i) => [ulid, due + i]))
  return messages
}
