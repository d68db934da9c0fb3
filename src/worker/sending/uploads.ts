// Uploads files of the gallery to WhatsApp: each content once for each number, and anew before WhatsApp forgets
// it. One worker uploads a content at a time: it holds a lease in Redis and renews it. Where it may die: before WhatsApp's
// answer is kept, the lease runs out and another worker uploads the content; WhatsApp then has it twice, which harms nobody.

import { FileMissingError, type FileStore, isFilesAway } from '../../files/store.ts'
import { contentPath } from '../../gallery/content.ts'
import { findFile, type GalleryFile, publicPathOf } from '../../gallery/files.ts'
import {
  backOffUpload,
  findUpload,
  forgetUpload,
  HOLD_AGAIN_MS,
  holdUpload,
  keepUpload,
  releaseUpload,
  type UploadBackoff,
  type UploadedContent,
} from '../../gallery/uploads.ts'
import { createAccountSlots } from '../../kernel/account-slots.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { type Outcome, outcomeOf, type Problem } from '../../model/messages/outcome.ts'
import { UPLOADS_AT_ONCE } from '../../providers/cloud-upload.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { stopSender } from '../../reports/act-on-problem.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** A file as a message of one sender can name it. */
export type SendableFile =
  | { kind: 'ready'; source: { id: string } | { link: string }; hash: string; name: string }
  /** Not now: it is being uploaded, an upload went wrong, or its record is broken. `ms`: when to try again. */
  | { kind: 'waits'; ms: number; problem: Problem }
  /** Never: it is not kept any more, or WhatsApp refuses it. */
  | { kind: 'refused'; problem: Problem }

/** An upload that a message names. */
export interface NamedUpload {
  hash: string
  id: string
}

/** While somebody uploads it, it is looked up again after this. */
const UNDER_WAY_MS = 250
/** A longer backoff is checked in between: a person may have mended its cause. */
const RECHECK_MS = 10_000
/** The hash and type of a file never change; only whether it is still kept is checked again. */
const FILE_KEPT_MS = 10_000
/** A known id is used without a lookup for so long: shorter than the wait of a message that WhatsApp refused over it. */
const KNOWN_MS = 1_000

const gone: Problem = {
  code: 'gallery_file_gone',
  sentence: 'The file of the gallery is not kept any more.',
}
const underWay: Problem = { code: 'uploading', sentence: 'The file is being uploaded to WhatsApp.' }
const unreadableFile: Problem = {
  code: 'file_unreadable',
  sentence: 'The record of the gallery file is broken.',
}
const noAddress: Problem = {
  code: 'no_public_url',
  sentence: 'The provider fetches files by their public address, and LANEWAY_PUBLIC_URL is not set.',
}

const knownUpload = cached(KNOWN_MS, async (redis: Redis, lane: number, hash: string) => {
  const found = await findUpload(redis, { lane, hash }, Date.now())
  // An upload that is missing may be there in a moment.
  return found.kind === 'uploaded' ? found : undefined
})

export interface UploadDeps {
  redis: Redis
  files: FileStore
  config: Pick<Config, 'publicUrl'>
  log: Log
  lanes: LaneQueues
  /** The name of this process. */
  worker: string
}

export type Uploads = ReturnType<typeof createUploads>

export function createUploads(deps: UploadDeps) {
  const { redis, log } = deps
  const stopping = new AbortController()
  const slots = createAccountSlots(UPLOADS_AT_ONCE)

  /** `unreadable` is cached as well, so that it is logged now and then and not for each message. */
  const knownFile = cached(FILE_KEPT_MS, (connection, account: number, id: number) =>
    findFile(connection, account, id).catch((error: unknown) => {
      if (!(error instanceof CorruptRecordError)) throw error
      log.error({ account, file: id, err: error }, 'upload.unreadable')
      return 'unreadable' as const
    }),
  )

  /**
   * How a message of the sender can name the file. Starts its upload if it needs one, and does not wait for it. Messages of a
   * file whose record is broken wait until a person has mended it: a rejection would stop the whole lane. Rejects only when
   * Redis is away.
   */
  async function find(entry: DirectoryEntry, id: number): Promise<SendableFile> {
    const file = await knownFile(redis, entry.sender.account, id)
    if (file === undefined) return { kind: 'refused', problem: gone }
    if (file === 'unreadable') return { kind: 'waits', ms: RECHECK_MS, problem: unreadableFile }
    const { hash, name } = file
    if (entry.provider.upload === undefined) {
      const { publicUrl } = deps.config
      if (publicUrl === undefined) return { kind: 'refused', problem: noAddress }
      return { kind: 'ready', source: { link: `${publicUrl}${publicPathOf(file)}` }, hash, name }
    }
    const lane = entry.sender.id
    const known = (await knownUpload(redis, lane, hash)) ?? (await findUpload(redis, { lane, hash }, Date.now()))
    if (known.kind === 'uploaded') {
      // The old id is good for another day.
      if (known.isOld) begin(entry, file)
      return { kind: 'ready', source: { id: known.id }, hash, name }
    }
    if (known.kind === 'backing_off') return whileBackingOff(known.backoff)
    begin(entry, file)
    return { kind: 'waits', ms: UNDER_WAY_MS, problem: underWay }
  }

  const whileBackingOff = ({ outcome, code, sentence, ms }: UploadBackoff): SendableFile =>
    outcome === 'refused'
      ? { kind: 'refused', problem: { code, sentence } }
      : { kind: 'waits', ms: Math.min(ms, RECHECK_MS), problem: { code, sentence } }

  /** Uploads the file, unless this process does so already or is busy with others: the next message that needs it tries again. */
  function begin(entry: DirectoryEntry, file: GalleryFile): void {
    const name = `${entry.sender.id} ${file.hash}`
    const { account } = entry.sender
    if (stopping.signal.aborted || !slots.mayBegin(name, account)) return
    const upload = uploadHeld(entry, file).catch((error: unknown) => {
      log[isRedisAway(error) ? 'warn' : 'error']({ lane: entry.sender.id, file: file.id, err: error }, 'upload.broken')
    })
    slots.begin(name, account, upload)
  }

  async function uploadHeld(entry: DirectoryEntry, file: GalleryFile): Promise<void> {
    const content = { lane: entry.sender.id, hash: file.hash }
    if (!(await holdUpload(redis, content, deps.worker, true))) return
    // If another worker has the lease by now, as after this one was frozen, the upload ends.
    const lost = new AbortController()
    const holding = setInterval(() => {
      holdUpload(redis, content, deps.worker, false).then(
        (isHeld) => isHeld || lost.abort(),
        () => undefined,
      )
    }, HOLD_AGAIN_MS)
    try {
      const found = await findUpload(redis, content, Date.now())
      // Another worker was faster.
      if (found.kind === 'backing_off' || (found.kind === 'uploaded' && !found.isOld)) return
      await uploadOnce(entry, file, content, AbortSignal.any([lost.signal, stopping.signal]))
    } finally {
      clearInterval(holding)
      await releaseUpload(redis, content, deps.worker)
    }
  }

  async function uploadOnce(
    entry: DirectoryEntry,
    file: GalleryFile,
    content: UploadedContent,
    stopped: AbortSignal,
  ): Promise<void> {
    const beganAt = performance.now()
    let outcome: Outcome
    try {
      const { mime_type: mimeType, extension, size } = file
      const bytes = await deps.files.read(contentPath(file.hash))
      const sent = entry.provider.upload?.(entry.providerSender, { mimeType, extension, size, content: bytes }, stopped)
      const end = await sent?.finally(() => bytes.destroy())
      if (end === undefined || stopped.aborted) return
      outcome = outcomeOf(end)
    } catch (error) {
      if (stopped.aborted) return
      await unreadable(content, file, error)
      return
    }
    if (outcome.kind === 'sent') {
      await keepUpload(redis, content, outcome.providerId, Date.now())
      log.info({ lane: content.lane, file: file.id, ms: Math.round(performance.now() - beganAt) }, 'upload.done')
      return
    }
    await wentWrong(content, file, outcome)
  }

  async function wentWrong(
    content: UploadedContent,
    file: GalleryFile,
    outcome: Exclude<Outcome, { kind: 'sent' }>,
  ): Promise<void> {
    const { code, sentence } = outcome.problem
    const text = `WhatsApp does not take the file: ${sentence}`
    const retryAfterMs = outcome.kind === 'lane_waits' && !outcome.backoff ? outcome.laneMs : undefined
    const isRefused = outcome.kind === 'failed'
    const ms = await backOffUpload(
      redis,
      content,
      { outcome: isRefused ? 'refused' : 'waits', code, sentence: text },
      retryAfterMs,
    )
    const about = { lane: content.lane, file: file.id, code, wait_ms: ms }
    if (isRefused) log.warn(about, 'upload.refused')
    else log.warn(about, 'upload.failed')
    // Messages would be refused as well, and a person must mend it.
    if (outcome.kind === 'sender_blocked') await stopSender(deps, content.lane, outcome.problem)
  }

  /** The file store is away, or has lost the file. */
  async function unreadable(content: UploadedContent, file: GalleryFile, error: unknown): Promise<void> {
    const isGone = error instanceof FileMissingError
    const code = isGone ? gone.code : isFilesAway(error) ? 'files_away' : unreadableFile.code
    const sentence = isGone ? 'The bytes of the file are gone.' : 'The file cannot be read from where files are kept.'
    log.error({ lane: content.lane, file: file.id, err: error }, 'upload.unreadable')
    await backOffUpload(redis, content, { outcome: isGone ? 'refused' : 'waits', code, sentence })
  }

  return {
    find,

    /** The same, but waits until an upload is over, at most `limitMs`. */
    async settled(entry: DirectoryEntry, id: number, limitMs: number): Promise<SendableFile> {
      const giveUpAt = performance.now() + limitMs
      for (;;) {
        const found = await find(entry, id)
        const isUnderWay = found.kind === 'waits' && found.problem.code === underWay.code
        if (!isUnderWay || stopping.signal.aborted || performance.now() > giveUpAt) return found
        // Without an upload here it only waits: another worker uploads it.
        await slots.oneOver(UNDER_WAY_MS)
      }
    },

    /** WhatsApp does not know this id any more. */
    async gone(lane: number, hash: string, id: string): Promise<void> {
      await forgetUpload(redis, { lane, hash }, id)
      log.warn({ lane, hash }, 'upload.gone')
    },

    /** Aborts uploads under way; another worker starts them anew. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort()
      await slots.allOver(limitMs)
    },
  }
}
