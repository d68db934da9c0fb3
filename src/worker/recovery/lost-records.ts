// Messages that were claimed and whose record is gone before it was settled: deleted, evicted, or expired by a clock of Redis
// that leapt. They may have been sent, so they are not sent again.
import { inParallel } from '../../kernel/in-parallel.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { mendActive } from '../../lanes/due-lanes.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { CorruptRecordError, recordOrError } from '../../redis/records.ts'
import type { SweepLaneDeps } from './sweep-lane.ts'

const AT_ONCE = 20

/**
 * Mends the lane's jobs that seem to be under way. Those without a record end `unknown` with the code record_lost, where their job
 * can still be read: whoever sent them decides. Dying in between is harmless, the next round does the rest.
 */
export async function mendLane(deps: Pick<SweepLaneDeps, 'redis' | 'config' | 'log'>, lane: number): Promise<void> {
  const { redis, config, log } = deps
  await inParallel(await mendActive(redis, lane), AT_ONCE, async (name) => {
    const id = parseMessageId(name)
    if (id === undefined) return log.error({ message: name }, 'sweep.failed')
    // Its error does not have the sentences of the schema, which quote what a person was to read.
    const payload = recordOrError(payloadText, `job ${name}`, (await readJob(redis, lane, name)).text)
    if (payload instanceof CorruptRecordError) return log.error({ message: name, err: payload }, 'sweep.failed')
    const isEnded = await finalizeUnsent(redis, id, 'gone', payload, config.retentionMs)
    if (isEnded) log.warn({ message: name }, 'message.record_lost')
  })
}
