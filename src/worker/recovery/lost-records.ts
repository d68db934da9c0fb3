// Messages that were claimed and whose record is gone before it was settled: deleted, evicted, or expired by a clock of Redis
// that leapt. They may have been sent, so they are not sent again.
import { isForeignPayload } from '../../jobs/send.ts'
import { inParallel } from '../../kernel/in-parallel.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { mendActive } from '../../lanes/due-lanes.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { jsonText } from '../../redis/records.ts'
import type { SweepLaneDeps } from './sweep-lane.ts'

const AT_ONCE = 20

/**
 * Mends the lane's jobs that seem to be under way. Those without a record end `unknown` with the code record_lost: whoever sent
 * them decides. A job that cannot be read any more becomes a dead letter, for a person to look at; one that is sealed under a data
 * key which this worker was not started with is left to a worker that was. Dying in between is harmless: the next round goes on.
 */
export async function mendLane(deps: Pick<SweepLaneDeps, 'redis' | 'config' | 'log'>, lane: number): Promise<void> {
  const { redis, config, log } = deps
  const unreadable: string[] = []
  await inParallel(await mendActive(redis, lane), AT_ONCE, async (name) => {
    const id = parseMessageId(name)
    const { text } = await readJob(redis, lane, name)
    const payload = payloadText.safeParse(text)
    if (id === undefined || !payload.success) {
      if (isForeignPayload(jsonText.safeParse(text).data)) log.error({ message: name }, 'attempt.data_key_missing')
      else unreadable.push(name)
      return
    }
    const isEnded = await finalizeUnsent(redis, id, 'gone', payload.data, config.retentionMs)
    if (isEnded) log.warn({ message: name }, 'message.record_lost')
  })
  if (unreadable.length > 0) await mendActive(redis, lane, unreadable)
}
