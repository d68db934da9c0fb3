// Files of the gallery in the messages of a step: before a message is claimed, each is replaced by the id or address that its
// provider needs. A message whose file is not uploaded yet waits, visibly, and no other waits with it.

import { delayMessage, waitText } from '../../lanes/messages/claim.ts'
import type { Content } from '../../model/messages/content.ts'
import { galleryFilesIn, withFiles } from '../../model/messages/content-files.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignFilesWaitKey } from '../../redis/keys.ts'
import type { Candidate } from './candidate.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import type { NamedUpload, SendableFile, Uploads } from './uploads.ts'

type ReadyFiles = { content: Content; uploads: readonly NamedUpload[] } | { refusal: Problem }

const NONE: ReadonlyMap<number, number> = new Map()

/**
 * Names the files of all messages of a step at once; most have none. Sets `content` and `uploads`, or `refusal` of those that can
 * never be sent, or `fileWaitMs` of those that wait. Returns the campaigns that are to be skipped, and for how long (ms): until then
 * only their messages with a job of their own are claimed. Rejects only when Redis is away.
 */
export async function nameFiles(
  { redis, uploads }: { redis: Redis; uploads: Pick<Uploads, 'find'> },
  entry: DirectoryEntry,
  messages: readonly Candidate[],
): Promise<ReadonlyMap<number, number>> {
  const wanted = messages.filter(({ content }) => galleryFilesIn(content).length > 0)
  if (wanted.length === 0) return NONE
  const files = new Map<number, SendableFile>()
  const ids = new Set(wanted.flatMap(({ content }) => galleryFilesIn(content).map(({ gallery }) => gallery)))
  await Promise.all([...ids].map(async (id) => files.set(id, await uploads.find(entry, id))))

  const noted: Promise<unknown>[] = []
  const waitingRuns = new Map<number, number>()
  for (const each of wanted) {
    const found = galleryFilesIn(each.content).flatMap(({ gallery }) => files.get(gallery) ?? [])
    const state = stateOf(each.content, found, files)
    if ('refusal' in state) each.refusal = state.refusal
    if ('content' in state) {
      each.content = state.content
      each.uploads = state.uploads
    }
    if (!('waitMs' in state)) continue
    const { waitMs, sentence } = state
    each.fileWaitMs = waitMs
    const { run } = each.message
    // For lookups only: it may end before the claim, which gets the delay of the job separately.
    if (each.waitsAs !== 'place' || run === undefined)
      noted.push(delayMessage(redis, each.id, waitMs, waitText(sentence)))
    else if (!waitingRuns.has(run)) {
      waitingRuns.set(run, waitMs)
      // For lookups; a little longer than the wait itself, which is followed by another one.
      const key = campaignFilesWaitKey(each.id.lane, run)
      noted.push(redis.set(key, waitText(sentence), 'PX', waitMs + SHOWN_MS))
    }
  }
  await Promise.all(noted)
  return waitingRuns
}

const SHOWN_MS = 1_000

function stateOf(
  content: Content,
  found: readonly SendableFile[],
  files: ReadonlyMap<number, SendableFile>,
): ReadyFiles | { waitMs: number; sentence: string } {
  let waits: { waitMs: number; sentence: string } | undefined
  for (const file of found) {
    if (file.kind === 'refused') return { refusal: file.problem }
    if (file.kind === 'waits' && file.ms > (waits?.waitMs ?? 0))
      waits = { waitMs: file.ms, sentence: file.problem.sentence }
  }
  return waits ?? namedFiles(content, files)
}

/** Memoised per content object, which all messages of a campaign share, and the names of its files. */
const known = new WeakMap<Content, { key: string; named: ReadyFiles }>()

function namedFiles(content: Content, files: ReadonlyMap<number, SendableFile>): ReadyFiles {
  const uploads: NamedUpload[] = []
  const named = withFiles(content, ({ gallery, ...file }, { kind }) => {
    const found = gallery === undefined ? undefined : files.get(Number(gallery))
    if (found?.kind !== 'ready') return { gallery, ...file }
    if ('id' in found.source) uploads.push({ hash: found.hash, id: found.source.id })
    // People know a document by its name.
    const filename = kind === 'document' ? { filename: file.filename ?? found.name } : {}
    return { ...found.source, ...file, ...filename }
  })
  const key = JSON.stringify(named)
  const before = known.get(content)
  if (before?.key === key) return before.named
  const ready = { content: named, uploads }
  known.set(content, { key, named: ready })
  return ready
}
