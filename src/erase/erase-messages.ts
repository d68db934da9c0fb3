// Erases the messages of a person on one lane, each in a step of its own. If the process dies, the next run finds those that
// are left.
import type { FileStore } from '../files/store.ts'
import type { SendPayload } from '../jobs/send.ts'
import { type MessageId, messageId } from '../kernel/message-id.ts'
import { namesOfPerson } from '../kernel/sealed.ts'
import { type Archive, archiveOf, type Erased, type Walked } from '../lanes/archive/archive.ts'
import { cancelStep } from '../lanes/cancel-message.ts'
import { payloadText, readJob } from '../lanes/jobs.ts'
import { finalizeUnsent } from '../lanes/messages/finalize-unsent.ts'
import { readAttempt } from '../lanes/messages/records.ts'
import { resolveUnconfirmed } from '../lanes/messages/steps.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { personErased } from '../model/messages/own-problems.ts'
import type { Redis } from '../redis/connect.ts'
import { recipientCooldownKey, replyWindowKey } from '../redis/keys.ts'

/** Dependencies of erasing messages. */
export interface EraseDeps {
  redis: Redis
  queues: LaneQueues
  files: FileStore
  config: { retentionMs: number; validityMs: { campaign: number } }
}

/** Messages that are erased at once: their commands share round trips. */
const AT_ONCE = 100
/** A message accepted this recently may not be on its lane yet: the index is written first. */
const UNDER_WAY_MS = 60_000

/**
 * `busy`: it is being sent, and its end must be awaited. `before`: it was erased already. `other`: it is nobody's, or somebody else's.
 */
type Verdict = 'erased' | 'before' | 'busy' | 'other'

/** What was erased on a lane, and how many messages are in flight, which must be checked again. */
export interface ErasedOnLane {
  messages: number
  received: number
  busy: number
}

/** Erases all messages of the lane to and from the person; waiting ones are cancelled. */
export async function eraseMessages(
  deps: EraseDeps,
  of: { account: number; lane: number; person: string; nowMs: number },
): Promise<ErasedOnLane> {
  const { redis } = deps
  const { lane, person } = of
  const archive = archiveOf(redis)
  const done: ErasedOnLane = { messages: 0, received: 0, busy: 0 }
  for await (const found of archive.walk({ lane, people: [[person]] })) {
    for (let at = 0; at < found.length; at += AT_ONCE) {
      const some = found.slice(at, at + AT_ONCE)
      const verdicts = await Promise.all(some.map((message) => eraseWalked(deps, archive, message, of)))
      for (const [i, { kind }] of some.entries()) {
        if (verdicts[i] === 'busy') done.busy += 1
        if (verdicts[i] === 'erased') done[kind === 'sent' ? 'messages' : 'received'] += 1
      }
      const isForgotten = (message: Walked, i: number): boolean =>
        verdicts[i] === 'erased' ||
        verdicts[i] === 'before' ||
        (verdicts[i] === 'other' && message.acceptedAtMs < of.nowMs - UNDER_WAY_MS)
      await Promise.all(some.filter(isForgotten).map((message) => message.unlist()))
    }
  }
  const names = namesOfPerson(person)
  await redis.del(...names.flatMap((name) => [recipientCooldownKey(lane, name), replyWindowKey(lane, name)]))
  return done
}

async function eraseWalked(
  deps: EraseDeps,
  archive: Archive,
  message: Walked,
  { account, person }: { account: number; person: string },
): Promise<Verdict> {
  if (message.kind === 'sent') return eraseMessage(deps, message, person)
  return verdictOf(await archive.erase({ account, name: message.name }, person))
}

const verdictOf = (erased: Erased): Verdict =>
  erased === 'erased' || erased === 'before' || erased === 'other' ? erased : 'busy'

/** Erases one message, if it is to this person; cancels it first if it waits. */
export async function eraseMessage(deps: EraseDeps, { lane, ulid }: MessageId, person: string): Promise<Verdict> {
  const { redis, config } = deps
  const archive = archiveOf(redis)
  const id = { lane, ulid }
  const payload = await payloadFor(redis, id, person)
  // One that was claimed and has no record may be in flight. Of any other a worker that claims it from now on finds that it is
  // cancelled.
  const isEnded =
    payload !== undefined &&
    ((await finalizeUnsent(redis, id, 'gone', payload, config.retentionMs)) ||
      (await finalizeUnsent(redis, id, 'erased', payload, config.retentionMs)))
  let erased = await archive.erase(id, person)
  if (erased === 'unconfirmed') {
    // It cannot be repeated any more; later reports of it are still recorded.
    await resolveUnconfirmed(redis, id, await readAttempt(redis, id), 'never', 1)
    erased = await archive.erase(id, person)
  } else if (erased === 'queued') {
    await cancelStep(redis, id, config.retentionMs, personErased)
    erased = await archive.erase(id, person)
  }
  const verdict = verdictOf(erased)
  if (verdict === 'busy') return verdict
  if (payload !== undefined && !(await removeJob(deps, id, person))) return 'busy'
  return isEnded || payload !== undefined ? 'erased' : verdict
}

async function payloadFor(redis: Redis, id: MessageId, person: string): Promise<SendPayload | undefined> {
  const { text } = await readJob(redis, id.lane, messageId(id.lane, id.ulid))
  const payload = payloadText.safeParse(text).data
  return payload?.to === person ? payload : undefined
}

/** False while a worker holds it: the claim is refused, and the job ends. */
async function removeJob({ redis, queues }: EraseDeps, id: MessageId, person: string) {
  if ((await payloadFor(redis, id, person)) === undefined) return true
  await queues.removeJob(id).catch(() => {})
  return (await payloadFor(redis, id, person)) === undefined
}
