// The sender of a lane, as whoever is about to send needs it.
import { SealError } from '../accounts/seal.ts'
import { coolLane } from '../lanes/cooldown.ts'
import { CorruptRecordError } from '../redis/corrupt-record.ts'
import type { SendDeps } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/**
 * The lane's sender; undefined when there is none. `laneMs`: its token was sealed under another key, or its record is
 * broken. That is a person's to mend and no fault of the messages, so the lane waits for so long; failing their jobs would
 * make dead letters of the whole lane.
 */
export async function senderOrWait(
  deps: SendDeps,
  lane: number,
): Promise<{ entry: DirectoryEntry | undefined } | { laneMs: number }> {
  try {
    return { entry: await deps.directory.of(lane) }
  } catch (error) {
    if (!(error instanceof SealError || error instanceof CorruptRecordError)) throw error
    deps.log.debug({ lane, err: error }, 'sender.unreadable')
    const ms = deps.backoff.waitMs(lane, unreadableSender)
    await coolLane(deps.redis, lane, ms, unreadableSender.problem)
    return { laneMs: ms }
  }
}

const unreadableSender = {
  laneMs: 1_000,
  backoff: true,
  problem: {
    code: 'sender_unreadable',
    sentence: 'The token of the sender cannot be opened, or its record is broken.',
  },
}
