// Records in Redis, which are hashes: creating, listing, reading. Each is checked when it is read, so that what a person or
// another program changed there is not passed on. Also ids for records, and transactions that reject when one of their
// commands fails.

import { z } from 'zod'
import { openText } from '../kernel/sealed.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import type { Redis, Transaction } from './connect.ts'
import { rootKeys } from './keys.ts'
import { defineScript } from './lua.ts'

/** A record in Redis that is not what Laneway wrote. Answered as 500; the message names the record, never its content. */
export class CorruptRecordError extends Error {
  override name = 'CorruptRecordError'
}

/** The record by its schema; throws a CorruptRecordError that names the fields at fault. */
export function readRecord<S extends z.ZodType>(schema: S, what: string, raw: unknown): z.output<S> {
  const read = recordOrError(schema, what, raw)
  if (read instanceof CorruptRecordError) throw read
  return read
}

/** The same, with the error in place of the record, for callers that must not stop at one of many. */
export function recordOrError<S extends z.ZodType>(
  schema: S,
  what: string,
  raw: unknown,
): z.output<S> | CorruptRecordError {
  const parsed = schema.safeParse(raw)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'record').join(', ')
  return new CorruptRecordError(`${what} in Redis is broken: ${fields}`)
}

/** For `catch`: the error of a record that cannot be read. Any other error, as of Redis, is thrown again. */
export function corruptOrThrow(error: unknown): CorruptRecordError {
  if (!(error instanceof CorruptRecordError)) throw error
  return error
}

/** For `catch`: nothing in place of a record that cannot be read. Any other error is thrown again. */
export function skipCorrupt(error: unknown): undefined {
  corruptOrThrow(error)
}

/** A field that holds JSON, parsed; what comes out is still to be checked by the next schema of the pipe. */
export const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON' })
    return z.NEVER
  }
})

/** A text that may be sealed. */
export const sealedText = z.string().transform((stored, context) => {
  try {
    return openText(stored)
  } catch {
    context.addIssue('cannot be opened')
    return z.NEVER
  }
})

export const idField = z.coerce.number<string>().int().positive()

/** Microseconds since 1970. */
export const timeField = z.coerce.number<string>().int().positive()

/** An id or a time that may be empty, which reads as null. */
export const optionalField = z.union([z.literal('').transform(() => null), idField])

/** The hashes at these keys, in their order; `{}` for one that is not there. All keys must share a hash tag. */
export async function readHashes(redis: Redis, keys: readonly string[]): Promise<unknown[]> {
  if (keys.length === 0) return []
  const pipeline = redis.pipeline()
  for (const key of keys) pipeline.hgetall(key)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, hash]) => {
    if (error) throw error
    return hash
  })
}

const createScript = defineScript(import.meta.url, 'create-hash')

const listedScript = defineScript(import.meta.url, 'listed-hash')
/** No request takes so long from creating a hash to listing it. */
const UNLISTED_MS = HOUR_MS

/**
 * Writes a hash unless there is one, which is left as it is: of many who create it at once, one does. `list` puts it where
 * it is found, on another server of a cluster. It is there (`isThere`) once this has resolved: a process that dies
 * before leaves a hash that nobody finds and that ends within the hour, unless a repeat goes on with it.
 */
export async function createListed(
  redis: Redis,
  key: string,
  fields: Record<string, string | number>,
  list: () => Promise<unknown>,
): Promise<void> {
  await createScript(redis, { hash: key }, { fields: Object.entries(fields).flat(), keepMs: UNLISTED_MS })
  await list()
  await listedScript(redis, { hash: key })
}

const inListScript = defineScript(import.meta.url, 'create-in-list')

/** The same in one step, where the list, a ZSET, shares the hash tag of the hash: both are there or neither. */
export async function createInList(
  redis: Redis,
  keys: { hash: string; list: string },
  fields: Record<string, string | number>,
  { name, score }: { name: string | number; score: number },
): Promise<void> {
  const args = { fields: Object.entries(fields).flat(), name: String(name), score: String(score) }
  await inListScript(redis, keys, args)
}

/** There while a hash is not listed; create-hash.lua writes it, and listed-hash.lua takes it away. */
export const UNLISTED_FIELD = 'unlisted'

/** Whether a hash was there: Redis knows no empty ones, and one that is being created is not there yet. */
export const isThere = (hash: unknown): boolean =>
  typeof hash === 'object' && hash !== null && !(UNLISTED_FIELD in hash) && Object.keys(hash).length > 0

const replaceScript = defineScript(import.meta.url, 'replace-field')

/** Gives the field its new value unless it has another one than `before` by now (`''`: none); says whether it did. */
export async function replaceField(
  redis: Redis,
  key: string,
  field: string,
  { before, after }: { before: string; after: string },
): Promise<boolean> {
  return (await replaceScript(redis, { hash: key }, { field, before, after })) === 1
}

export type Sequence =
  | 'account'
  | 'lane'
  | 'folder'
  | 'file'
  | 'tag'
  | 'contact'
  | 'membership'
  | 'campaign'
  | 'portfolio'

/** The next id, from 1. With `count`, reserves that many and returns the first of them. */
export async function nextId(redis: Redis, sequence: Sequence, count = 1): Promise<number> {
  const last = await redis.hincrby(rootKeys.sequences, sequence, count)
  return last - count + 1
}

/** Runs a transaction; rejects with the first error among its results, and when it was not run at all. */
export async function execOrThrow(transaction: Transaction): Promise<void> {
  const results = await transaction.exec()
  if (results === null) throw new Error('The transaction was not run.')
  for (const [error] of results) if (error) throw error
}
