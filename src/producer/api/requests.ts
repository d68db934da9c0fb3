// What handlers of several features do with a request.
import { Readable } from 'node:stream'
import { checkedKey, type OnceSteps, once, refuseOtherBody } from '../../messages/accept/once.ts'
import { bodyDigest, rememberKey } from '../../messages/store/idempotency.ts'
import type { Redis } from '../../redis/connect.ts'
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

/** Makes something once per Idempotency-Key; `route` tells keys of different addresses apart. */
export const makeOnce = <W, T>(
  redis: Redis,
  { caller: { account }, headers, sent }: Keyed,
  route: string,
  steps: OnceSteps<W, T>,
): Promise<T> => once(redis, { account, route, key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }, steps)

/** The same for what is named by a number that is drawn beforehand. */
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
  const digest = bodyDigest(sent)
  const kept = await rememberKey(redis, { account, route, key }, { id: proposed, digest })
  refuseOtherBody(kept, digest)
  return kept.id
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
