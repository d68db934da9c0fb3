// Files of the gallery in the messages of a step: before a message is claimed, each is replaced by the id or address that its
// provider needs. A message whose file is not uploaded yet waits, visibly, and no other waits with it.

import { delayMessage, waitText } from '../../lanes/messages/claim.ts'
import type { Content } from '../../model/messages/content.ts'
import { galleryFilesIn, withFiles } from '../../model/messages/content-files.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignFilesWaitKey } from '../../redis/keys.ts'
import type { Outgoing } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import type { NamedUpload, SendableFile, Uploads } from './uploads.ts'

export type ReadyFiles = { content: Content; uploads: readonly NamedUpload[] } | { refusal: Problem }

/** What the files of some messages allow. A message without files of the gallery is in none of these. */
export interface MessageFiles {
  /** What is sent of a message in place of its content, or why it can never be sent. */
  ready: ReadonlyMap<Outgoing, ReadyFiles>
  /** Messages that wait for a file, also those from chunks, and for how long (ms). */
  waiting: ReadonlyMap<Outgoing, number>
  /** Campaigns whose chunks are to be given back, and for how long (ms). */
  waitingRuns: ReadonlyMap<number, number>
}

const NONE: MessageFiles = { ready: new Map(), waiting: new Map(), waitingRuns: new Map() }

/** Looks up the files of all messages of a step at once; most messages have none. Rejects only when Redis is away. */
export async function filesOf(
  { redis, uploads }: { redis: Redis; uploads: Pick<Uploads, 'find'> },
  entry: DirectoryEntry,
  messages: readonly Outgoing[],
): Promise<MessageFiles> {
  const wanted = messages.filter(({ content }) => galleryFilesIn(content).length > 0)
  if (wanted.length === 0) return NONE
  const files = new Map<number, SendableFile>()
  const ids = new Set(wanted.flatMap(({ content }) => galleryFilesIn(content).map(({ gallery }) => gallery)))
  await Promise.all([...ids].map(async (id) => files.set(id, await uploads.find(entry, id))))

  const ready = new Map<Outgoing, ReadyFiles>()
  const waiting = new Map<Outgoing, number>()
  const noted: Promise<unknown>[] = []
  const waitingRuns = new Map<number, number>()
  for (const message of wanted) {
    const found = galleryFilesIn(message.content).flatMap(({ gallery }) => files.get(gallery) ?? [])
    const state = stateOf(message.content, found, files)
    if (!('waitMs' in state)) {
      ready.set(message, state)
      continue
    }
    const { waitMs, sentence } = state
    waiting.set(message, waitMs)
    const { run } = message.message
    // For lookups only: it may end before the claim, which gets the delay of the job separately.
    if (message.from !== 'place' || run === undefined)
      noted.push(delayMessage(redis, message.id, waitMs, waitText(sentence)))
    else if (!waitingRuns.has(run)) {
      waitingRuns.set(run, waitMs)
      // For lookups; a little longer than the wait itself, which is followed by another one.
      const key = campaignFilesWaitKey(message.id.lane, run)
      noted.push(redis.set(key, waitText(sentence), 'PX', waitMs + SHOWN_MS))
    }
  }
  await Promise.all(noted)
  return { ready, waiting, waitingRuns }
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
