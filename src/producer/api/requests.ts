// What handlers of several features do with a request: once per Idempotency-Key, streamed, in pages. A cursor of a page holds a
// position in the order of the list, not a name: its record may be gone by the next page, and those after it must still come.
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../redis/connect.ts'
import { bodyDigest, checkedKey, rememberKey } from '../../redis/idempotency.ts'
import { type OnceSteps, once } from '../../redis/once.ts'
import { invalid, notFound } from '../errors.ts'
import type { Caller, StreamAnswer } from '../route.ts'

/** The value, or a 404 that says `what` does not exist. */
export function found<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw notFound(what)
  return value
}

/** 400 for a cursor that no page had. */
export const badCursor = (path = 'cursor') => invalid([{ path, message: 'expected `next` of the page before' }])

interface Keyed {
  caller: Caller
  headers: { 'Idempotency-Key'?: string | undefined }
  sent: Record<string, unknown>
}

/** Makes something once per Idempotency-Key; `route` separates the keys of different addresses. */
export const makeOnce = <W, T>(
  redis: Redis,
  { caller: { account }, headers, sent }: Keyed,
  route: string,
  steps: OnceSteps<W, T>,
): Promise<T> => once(redis, { account, route, key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }, steps)

/** The same for things whose id is a number that is reserved before. */
export const makeOnceById = <T>(
  redis: Redis,
  call: Keyed,
  route: string,
  steps: {
    newId: (redis: Redis) => Promise<number>
    make: (id: number) => Promise<T>
    find: (id: number) => Promise<T | undefined>
  },
): Promise<T> =>
  makeOnce(redis, call, route, {
    prepare: async () => ({ name: String(await steps.newId(redis)), work: undefined }),
    make: (id) => steps.make(Number(id)),
    find: (id) => steps.find(Number(id)),
  })

/** The id that the request's Idempotency-Key stands for, or else the proposed one. Kept before anything is made. */
export async function idFor(
  redis: Redis,
  { caller: { account }, headers, sent }: Keyed,
  route: string,
  proposed: string,
): Promise<string> {
  const key = checkedKey(headers['Idempotency-Key'])
  if (key === undefined) return proposed
  return rememberKey(redis, { account, route, key, digest: bodyDigest(sent) }, proposed)
}

/** Poll interval for the outcome of a job: a worker takes some ms for most. */
const FIRST_PAUSE_MS = 10
const LAST_PAUSE_MS = 250

/**
 * The result of `find` for a job within `limitMs`; undefined if there is none by then, or it `isOver` before. Rejects as `find` does, such
 * as when Redis goes away.
 */
export async function outcomeWithin<T>(
  limitMs: number,
  find: () => Promise<T | undefined>,
  isOver: () => boolean,
): Promise<T | undefined> {
  const endMs = performance.now() + limitMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    const outcome = await find()
    const leftMs = endMs - performance.now()
    if (outcome !== undefined || isOver() || leftMs <= 0) return outcome
    await sleep(Math.min(pauseMs, leftMs))
  }
}

/**
 * Streams pieces as the client reads them. The first piece is made before the header is sent, so that a failure is still
 * answered with its own status.
 */
export async function streamed<T>(
  { inPieces }: { inPieces: (source: AsyncIterable<T>) => AsyncGenerator<T> },
  source: AsyncIterable<T>,
  headers: StreamAnswer['headers'],
): Promise<StreamAnswer> {
  const pieces = inPieces(source)
  const first = await pieces.next()
  async function* all() {
    if (!first.done) yield first.value
    yield* pieces
  }
  return { headers, stream: Readable.from(all()) }
}

export const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' }

/** Headers of a file to be saved. */
export const download = (name: string, type: string) => ({
  'Content-Type': type,
  'Content-Disposition': `attachment; filename="${name}"`,
})

/** An address of this service as the client reaches it. */
export const addressOf = (
  { publicUrl }: { publicUrl?: string | undefined },
  { origin }: { origin: () => string },
  path: string,
): string => `${publicUrl ?? origin()}${path}`

/** Where an item is in its list: by `at`, then by `id`. No two share a position. */
export interface Position {
  at: number
  id: string
}

/** Position in a list by numeric ids. */
export const byId = ({ id }: { id: number }): Position => ({ at: id, id: '' })

/** Position in a list with the oldest first. */
export const byAge = ({ created_at, id }: { created_at: string; id: string }): Position => ({
  at: Date.parse(created_at),
  id,
})

/** Position in a list by ids that are texts. */
export const byText = ({ id }: { id: string }): Position => ({ at: 0, id })

const CURSOR = /^(\d{1,16})(?:\.(.+))?$/s

const written = ({ at, id }: Position): string => (id === '' ? String(at) : `${at}.${id}`)

/** The position in a cursor that `pageOfAll` gave; 400 for another text. */
export function readPosition(cursor: string): Position {
  const [, at, id = ''] = CURSOR.exec(cursor) ?? []
  if (at === undefined) throw badCursor()
  return { at: Number(at), id }
}

const isBefore = (a: Position, b: Position): boolean => a.at < b.at || (a.at === b.at && a.id < b.id)

/**
 * Up to `limit` of the items that follow `cursor`, in the order of their positions; `next` is the cursor after them, null
 * on the last page. 400 for a cursor that no page had.
 */
export function pageOfAll<T>(
  all: readonly T[],
  positionOf: (item: T) => Position,
  { limit, cursor }: { limit: number; cursor?: string | number | undefined },
): { data: T[]; next: string | null } {
  const after = cursor === undefined ? undefined : readPosition(String(cursor))
  const left = all
    .map((item) => ({ item, position: positionOf(item) }))
    .filter(({ position }) => after === undefined || isBefore(after, position))
    .sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  const page = left.slice(0, limit)
  const last = page.at(-1)
  return {
    data: page.map(({ item }) => item),
    next: last !== undefined && left.length > limit ? written(last.position) : null,
  }
}

/** A page of records with growing ids. One more than `limit` was read, to know whether another page follows. */
export function pageOf<T extends { id: number }>(records: readonly T[], limit: number) {
  const page = records.slice(0, limit)
  return { page, nextAfter: records.length > limit ? (page.at(-1)?.id ?? null) : null }
}
