// Who wants no advertising of an account: a ZSET of people by the time since which, and a HASH of who said so, under one
// hash tag. Whoever is in the ZSET is opted out, whatever the HASH says. Who was erased stands in another ZSET, by what
// stands for them (erased.ts), and is opted out as well.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { NotReplicatedError, needsReplicas, sendReplicated } from '../../redis/replication.ts'
import { execForReplies } from '../../redis/transaction.ts'
import { OPT_OUT_SOURCES, type OptOut, type OptOutSource } from '../opt-out.ts'
import { erasedMarksOf, makeErasedMark } from './erased.ts'

const sourceSchema = z.enum(OPT_OUT_SOURCES).catch('http')

/**
 * Writes down that they want no advertising; whoever is written down already stays as they are. Returns how many are new.
 * Rejects with a NotReplicatedError when too few replicas have it in time, unless it need not be `replicated`.
 */
export async function addOptOuts(
  redis: Redis,
  account: number,
  people: readonly string[],
  { source, nowMs, replicated = true }: { source: OptOutSource; nowMs: number; replicated?: boolean },
): Promise<number> {
  if (people.length === 0) return 0
  const { optOuts, optOutSources } = contactKeys(account)
  const transaction = redis.multi()
  for (const person of people) transaction.hsetnx(optOutSources, person, source)
  const replies = await execForReplies(transaction.zadd(optOuts, 'NX', ...people.flatMap((person) => [nowMs, person])))
  if (replicated) await assertKept(redis, optOuts, people, 'there')
  return Number(replies.at(-1))
}

/** They may be written to again. Returns how many entries are gone. Rejects as `addOptOuts` does, or with a SealError. */
export async function removeOptOuts(redis: Redis, account: number, people: readonly string[]): Promise<number> {
  if (people.length === 0) return 0
  const { optOuts, optOutSources, erasedOptOuts } = contactKeys(account)
  const marks = await erasedMarksOf(redis, account, people)
  const transaction = redis
    .multi()
    .hdel(optOutSources, ...people, ...(marks ?? []))
    .zrem(optOuts, ...people)
  if (marks !== undefined) transaction.zrem(erasedOptOuts, ...marks)
  const [, removed, ofErased = 0] = await execForReplies(transaction)
  await assertKept(redis, optOuts, people, 'gone')
  if (marks !== undefined) await assertKept(redis, erasedOptOuts, marks, 'gone')
  return Number(removed) + Number(ofErased)
}

/**
 * Forgets who it was that opted out, and not that they did: from now on only what stands for them is kept. Doing it again
 * changes nothing.
 */
export async function eraseOptOut(redis: Redis, account: number, person: string): Promise<void> {
  const { optOuts, optOutSources, erasedOptOuts } = contactKeys(account)
  const [at, source] = await Promise.all([redis.zscore(optOuts, person), redis.hget(optOutSources, person)])
  if (at !== null) {
    const mark = await makeErasedMark(redis, account, person)
    const transaction = redis.multi().hsetnx(optOutSources, mark, sourceSchema.parse(source))
    await execForReplies(transaction.zadd(erasedOptOuts, 'NX', at, mark))
    await assertKept(redis, erasedOptOuts, [mark], 'there')
  }
  // Dies before this: the person is on both lists, and is taken off this one by whoever goes on.
  await execForReplies(redis.multi().hdel(optOutSources, person).zrem(optOuts, person))
  await assertKept(redis, optOuts, [person], 'gone')
}

/** As acknowledgements do (redis/replication.ts): a failover must not bring back whom somebody was told to have left out. */
async function assertKept(redis: Redis, key: string, people: readonly string[], how: 'there' | 'gone'): Promise<void> {
  if (!needsReplicas(redis)) return
  const found = await sendReplicated(redis, 'zmscore', [key, ...people], key)
  // Another server answers by now, or somebody wishes otherwise at this moment.
  const isSo = z
    .array(z.unknown())
    .parse(found)
    .every((at) => (at === null) === (how === 'gone'))
  if (!isSo) throw new NotReplicatedError(found)
}

/** That the person is opted out; undefined when they are not. */
export async function findOptOut(redis: Redis, account: number, person: string): Promise<OptOut | undefined> {
  const { optOuts, optOutSources, erasedOptOuts } = contactKeys(account)
  const [at, source] = await Promise.all([redis.zscore(optOuts, person), redis.hget(optOutSources, person)])
  if (at !== null) return shown(person, Number(at), source)
  const [mark] = (await erasedMarksOf(redis, account, [person])) ?? []
  if (mark === undefined) return undefined
  const [since, saidBy] = await Promise.all([redis.zscore(erasedOptOuts, mark), redis.hget(optOutSources, mark)])
  return since === null ? undefined : shown(person, Number(since), saidBy)
}

/** Places, among these, of people who are opted out. Two commands or three, whatever their number. */
export async function optedOutAmong(redis: Redis, account: number, people: readonly string[]): Promise<Set<number>> {
  if (people.length === 0) return new Set()
  const { optOuts, erasedOptOuts } = contactKeys(account)
  const [found, ofErased] = await Promise.all([
    redis.zmscore(optOuts, ...people),
    erasedMarksOf(redis, account, people).then((marks) => (marks ? redis.zmscore(erasedOptOuts, ...marks) : [])),
  ])
  return new Set(people.flatMap((_person, i) => (found[i] === null && (ofErased[i] ?? null) === null ? [] : [i])))
}

/** Where a page of the list begins: the last one of the page before. */
const CURSOR = /^(\d{1,16})_(.+)$/
/** Whether a text can be one. */
export const isOptOutCursor = (text: string): boolean => CURSOR.test(text)

/** A page, the latest first, without who was erased; `next` is the cursor of the page that follows, null on the last. */
export async function listOptOuts(
  redis: Redis,
  account: number,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ data: OptOut[]; next: string | null }> {
  const { optOuts, optOutSources } = contactKeys(account)
  const from = cursor === undefined ? 0 : await placeAfter(redis, optOuts, cursor)
  const found = await redis.zrevrange(optOuts, from, from + limit, 'WITHSCORES')
  const people: { person: string; at: number }[] = []
  for (let i = 0; i + 1 < found.length; i += 2) people.push({ person: found[i] ?? '', at: Number(found[i + 1]) })
  const page = people.slice(0, limit)
  if (page.length === 0) return { data: [], next: null }
  const sources = await redis.hmget(optOutSources, ...page.map(({ person }) => person))
  const last = page.at(-1)
  return {
    data: page.map(({ person, at }, i) => shown(person, at, sources[i] ?? null)),
    next: last !== undefined && people.length > limit ? `${last.at}_${last.person}` : null,
  }
}

/** How many stand before what follows the cursor, also when the one that it names has gone meanwhile. */
async function placeAfter(redis: Redis, key: string, cursor: string): Promise<number> {
  const [, at = '0', person = ''] = CURSOR.exec(cursor) ?? []
  const place = await redis.zrevrank(key, person)
  return place === null ? redis.zcount(key, `(${at}`, '+inf') : place + 1
}

const shown = (person: string, at: number, source: string | null): OptOut => ({
  person,
  source: sourceSchema.parse(source),
  since: new Date(at).toISOString(),
})
