// One try to fetch the file of a received message into the gallery.
//
// Where the worker may die: a draft on disk is removed after a day. Bytes without a record are removed after an hour (content.ts). A
// gallery record that the message does not name yet is found by the next worker, under the id that was stored before it; if the person
// was erased meanwhile, that worker removes it.
import { statfs } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { accountLimits, cachedAccount } from '../../accounts/accounts.ts'
import { cachedSender, tokenOf } from '../../accounts/senders.ts'
import { type Draft, receive, TooLargeError } from '../../files/drafts.ts'
import { type FileStore, isFilesAway } from '../../files/store.ts'
import { addFile, findFile, GalleryFullError, keptBytes } from '../../gallery/files.ts'
import {
  fileIdOf,
  isFirstToTell,
  type ReceivedMedium,
  receivedFolder,
  type TakenMedium,
} from '../../gallery/received-media.ts'
import { removeFile } from '../../gallery/remove-files.ts'
import type { Config } from '../../kernel/config.ts'
import { iso } from '../../kernel/instant.ts'
import type { Log } from '../../kernel/log.ts'
import type { Seal } from '../../kernel/seal.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { type InboundMessage, namesOfWriter, noteGalleryFile } from '../../lanes/messages/inbound.ts'
import { ENTRY } from '../../model/events/outbox-entry.ts'
import { makeErasedHmacs } from '../../people/opt-outs/erased.ts'
import { MEDIA_MAX_BYTES, type MediaSource } from '../../providers/cloud-media.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { eventKeys } from '../../redis/keys.ts'

/** Files that one worker fetches at a time, each through some hundred KB of memory. */
export const AT_ONCE = 4
/** WhatsApp keeps a received file for seven days. */
const KEPT_MS = 7 * DAY_MS
/** More than fit into that time; an unreadable record ends the tries with it. */
const MOST_TRIES = 3_000
/** A full gallery may have room again after this. */
const FULL_WAIT_MS = 600_000
/** While a gallery has no room at all, WhatsApp throttles or the disk is low, nothing of the account is tried for so long. */
const BACKOFF_MS = 60_000

export interface FetchDeps {
  redis: Redis
  files: FileStore
  config: Pick<Config, 'limits' | 'reserve' | 'dataDir'>
  log: Log
  seal: Seal
  media: Pick<MediaSource, 'open'>
}

/** How a try ended. `why`: a word for the log. */
export type FetchEnd =
  | { kind: 'kept'; file: number; bytes: number }
  | { kind: 'over'; why: string }
  | { kind: 'again'; why: string; waitMs?: number; backoffMs?: number }

/** One try, whatever was tried before. Rejects when Redis is away. */
export async function fetchMedium(deps: FetchDeps, taken: TakenMedium, stopped: AbortSignal): Promise<FetchEnd> {
  const { redis } = deps
  const { account } = taken
  if (taken.tries > MOST_TRIES) return { kind: 'over', why: 'too_many_tries' }
  const message = await archiveOf(redis).find({ account, name: taken.message })
  const known = taken.fileId === undefined ? undefined : await findFile(redis, account, taken.fileId)
  if (known !== undefined) return recorded(deps, taken, known.id, known.size)
  if (message?.parts.media === undefined) return { kind: 'over', why: 'message_gone' }
  if (message.gallery_file !== undefined) return { kind: 'over', why: 'kept_before' }
  if ((await cachedAccount(redis, account))?.keep_received_media !== 'on') return { kind: 'over', why: 'switched_off' }
  const sender = await cachedSender(redis, message.lane)
  if (sender === undefined || sender.removed_at !== undefined) return { kind: 'over', why: 'sender_removed' }
  // After a late webhook WhatsApp may still have the file, so it is tried at least once.
  if (taken.tries > 0 && Date.now() - message.received_at > KEPT_MS) return { kind: 'over', why: 'out_of_time' }
  const room = await roomFor(deps, account)
  if (room.bytes <= 0) return full(deps, account, room, BACKOFF_MS)
  if (await isDiskLow(deps)) return { kind: 'again', why: 'disk_low', backoffMs: BACKOFF_MS }

  const { number, base_url: baseUrl, phone_number_id: phoneNumberId } = sender
  const token = tokenOf(deps.seal, sender)
  if (token === undefined) return { kind: 'again', why: 'token_unreadable' }
  // Stored before there is a file: see above. A full Redis refuses it before a byte is fetched in vain.
  const id = await fileIdOf(redis, taken, true)
  if (id === undefined) return { kind: 'again', why: 'not_reserved' }
  const opened = await deps.media.open({ number, baseUrl, token, phoneNumberId }, message.parts.media.id)
  if (opened.kind === 'gone' || opened.kind === 'too_large') return { kind: 'over', why: opened.kind }
  if (opened.kind === 'unavailable') {
    const isThrottled = opened.cause === 'http_429'
    return { kind: 'again', why: opened.cause, ...(isThrottled && { backoffMs: BACKOFF_MS }) }
  }
  const { stream, bytes } = opened
  if (bytes !== undefined && bytes > room.bytes) {
    stream.on('error', () => {}).destroy()
    return full(deps, account, room)
  }
  return fetchInto(deps, { taken, id, message, stream, room, stopped })
}

async function fetchInto(
  deps: FetchDeps,
  {
    taken,
    id,
    message,
    stream,
    room,
    stopped,
  }: { taken: TakenMedium; id: number; message: InboundMessage; stream: Readable; room: Room; stopped: AbortSignal },
): Promise<FetchEnd> {
  const { redis, files } = deps
  const { account } = taken
  const stop = (): void => void stream.destroy(new Error('the worker stops'))
  stopped.addEventListener('abort', stop)
  let draft: Draft | undefined
  try {
    if (stopped.aborted) stop()
    draft = await receive(files, stream, Math.min(room.bytes, MEDIA_MAX_BYTES))
    if (draft.size === 0) return { kind: 'again', why: 'empty' }
    const people = await makeErasedHmacs(redis, account, namesOfWriter(message))
    // The person's own name for it is private; the message has it, sealed.
    const name = (extension: string): string => `${iso(message.received_at).slice(0, 10)} ${message.type}.${extension}`
    const folder = await receivedFolder(redis, account)
    const file = await addFile(redis, files, account, folder, name, draft, {
      most: room.most,
      received: { id, people },
    })
    return await recorded(deps, taken, file.id, file.size)
  } catch (error) {
    if (error instanceof TooLargeError && room.bytes >= MEDIA_MAX_BYTES) return { kind: 'over', why: 'too_large' }
    if (error instanceof GalleryFullError || error instanceof TooLargeError) return full(deps, account, room)
    if (isRedisAway(error)) throw error
    if (stopped.aborted) return { kind: 'again', why: 'worker_stopped', waitMs: 0 }
    deps.log.debug({ account, lane: taken.lane, err: error }, 'received_media.broken_off')
    return { kind: 'again', why: isFilesAway(error) ? 'files_away' : 'broken_off' }
  } finally {
    stopped.removeEventListener('abort', stop)
    stream.destroy()
    await draft?.discard()
  }
}

/** The file is in the gallery. If the message was erased meanwhile, it is removed again. */
async function recorded({ redis }: FetchDeps, of: ReceivedMedium, file: number, bytes: number): Promise<FetchEnd> {
  if (await noteGalleryFile(redis, { ...of, file })) return { kind: 'kept', file, bytes }
  await removeFile(redis, of.account, file)
  return { kind: 'over', why: 'message_gone' }
}

interface Room {
  bytes: number
  /** The limit; 0 is none. */
  most: number
}

async function roomFor({ redis, config }: FetchDeps, account: number): Promise<Room> {
  const { galleryBytes: most } = await accountLimits(redis, account, config.limits)
  const bytes = most === 0 ? Number.POSITIVE_INFINITY : most - (await keptBytes(redis, account))
  return { bytes, most }
}

/** Keeps the disk reserve for sending, as uploads do. */
async function isDiskLow({ config: { reserve, dataDir } }: FetchDeps): Promise<boolean> {
  if (reserve.diskBytes === 0) return false
  const { bavail, bsize } = await statfs(dataDir)
  return bavail * bsize < reserve.diskBytes + AT_ONCE * MEDIA_MAX_BYTES
}

/** The gallery is full: none of the account's files is ever removed for this. Logged once a day. */
async function full(
  { redis, log }: FetchDeps,
  account: number,
  { most: limit }: Room,
  backoffMs = 0,
): Promise<FetchEnd> {
  if (await isFirstToTell(redis, account)) {
    const bytes = await keptBytes(redis, account)
    log.warn({ account, bytes, limit }, 'received_media.gallery_full')
    const event = JSON.stringify({ about: 'gallery', bytes, limit, at: Date.now() })
    await redis.xadd(eventKeys(account).outbox, 'NOMKSTREAM', '*', ENTRY.events, event)
  }
  return { kind: 'again', why: 'gallery_full', waitMs: FULL_WAIT_MS, backoffMs }
}
