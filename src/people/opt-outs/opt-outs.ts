// Opt-outs of an account: a ZSET of people by the time of their opt-out, a HASH of the sources and their times, and a ZSET of those who
// opted in again, under one hash tag. A person in the first ZSET is opted out, whatever the others contain. Erased people are in another
// ZSET, by HMAC (erased.ts), and are opted out as well. One script writes all of it, atomically.
//
// A change applies to all known names of a person, and is stored under each; for a number with several forms, under the first form used.
// An opt-out under any name is an opt-out of the person.

import { z } from 'zod'
import { iso } from '../../kernel/instant.ts'
import { mainForm, withForms } from '../../kernel/national-forms.ts'
import { OPT_OUT_SOURCES, type OptOut, type OptOutSource } from '../../model/people/opt-out.ts'
import type { Names } from '../../model/people/person.ts'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { jsonText } from '../../redis/records.ts'
import { namesOf, namesOfPeople } from '../names/names.ts'
import { erasedHmacsOf, makeErasedHmacs } from './erased.ts'

/** Sources that the script distinguishes from others. */
const SOURCE = { word: 'word', provider: 'provider', http: 'http' } as const satisfies { [Name in OptOutSource]?: Name }

/** Prefix of a name for an opt-in that WhatsApp reported. */
const PREFIX = { provider: 'provider:' } as const

const changeScript = defineScript(import.meta.url, 'opt-out-change', { names: { SOURCE, PREFIX } })

/** A change for people. `atMs`: its time (epoch ms); undefined: now, after everything known. */
interface OptOutSourceAt {
  source: OptOutSource
  atMs?: number | undefined
  /** Whether it waits until the replicas that are required have it; true unless said otherwise. */
  replicated?: boolean
}

/**
 * Records opt-outs, unless these people have opted in since. The later time wins, whatever the order of calls. Returns how many are
 * new. Rejects with a NotReplicatedError when too few replicas have it in time, or with a SealError. Wait for `optOutsHold` before
 * answering that it was done.
 */
export const addOptOuts = (
  redis: Redis,
  account: number,
  people: readonly string[],
  origin: OptOutSourceAt,
): Promise<number> => changeOptOuts(redis, account, people, { intent: 'stop', ...origin })

/**
 * Records opt-ins: one by the provider ends its own earlier opt-outs, any other ends all of them. Returns how many are off the list now.
 * Rejects as `addOptOuts` does.
 */
export const removeOptOuts = (
  redis: Redis,
  account: number,
  people: readonly string[],
  origin: OptOutSourceAt,
): Promise<number> => changeOptOuts(redis, account, people, { intent: 'start', ...origin })

/** Replaces the names by HMACs; the opt-out stays. Doing it again changes nothing. */
export async function eraseOptOut(redis: Redis, account: number, given: Names): Promise<void> {
  const names = withForms(given)
  const how = { intent: 'erase', source: 'http' } as const
  // Without an HMAC it only returns whether there is something to erase: most erased people need no key.
  const hmacs = await erasedHmacsOf(redis, account, names)
  if (hmacs === undefined && (await runChange(redis, account, names, undefined, how)).length === 0) return
  await runChange(redis, account, names, hmacs ?? (await makeErasedHmacs(redis, account, names)), how)
}

/**
 * Merges the opt-outs of all names of a person. Idempotent.
 */
export async function joinOptOuts(redis: Redis, account: number, given: readonly Names[]): Promise<void> {
  const people = given.map(withForms)
  const names = people.flat()
  const heard = await heardOf(redis, account, names)
  for (const person of people.filter((each) => each.some((name) => heard.has(name)))) {
    await changeNames(redis, account, person, { intent: 'join', source: 'http' })
  }
}

/** Which of these have an opt-out or opt-in on record. */
async function heardOf(redis: Redis, account: number, names: Names): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const { optOuts, erasedOptOuts, optOutEnds } = contactKeys(account)
  const hmacs = await erasedHmacsOf(redis, account, names)
  const ends = [...names, ...(hmacs ?? [])].flatMap((name) => [name, `${PREFIX.provider}${name}`])
  const [out, outErased, wanted] = await Promise.all([
    redis.zmscore(optOuts, ...names),
    hmacs === undefined ? [] : redis.zmscore(erasedOptOuts, ...hmacs),
    redis.zmscore(optOutEnds, ...ends),
  ])
  const isHeard = (_name: string, i: number): boolean =>
    [out[i], outErased[i], ...[i, i + names.length].flatMap((at) => wanted.slice(2 * at, 2 * at + 2))].some(
      (score) => typeof score === 'string',
    )
  return new Set(names.filter(isHeard))
}

type Change = OptOutSourceAt & { intent: 'stop' | 'start' | 'erase' | 'join' }

/** Returns for how many people something has changed. */
async function changeOptOuts(redis: Redis, account: number, people: readonly string[], how: Change): Promise<number> {
  if (people.length === 0) return 0
  const names = await namesOfPeople(redis, account, people)
  // Of the forms of a number the one that was given comes first.
  const all = [...new Set([...people, ...names.flat()])]
  const changed = new Set(await changeNames(redis, account, all, how))
  // Another name may have become known meanwhile. A name that becomes known later merges this change itself.
  const since = await namesOfPeople(redis, account, people)
  const added = since.filter((each, i) => each.some((name) => names[i]?.includes(name) === false)).flat()
  for (const name of added.length === 0 ? [] : await changeNames(redis, account, added, how)) changed.add(name)
  return new Set(names.filter((each) => each.some((name) => changed.has(name))).map(([first]) => first)).size
}

/** Returns the names for which something has changed. */
async function changeNames(redis: Redis, account: number, given: Names, how: Change): Promise<Names> {
  const names = withForms(given)
  const hmacs = await erasedHmacsOf(redis, account, names)
  const changed = await runChange(redis, account, names, hmacs, how)
  if (hmacs !== undefined) return changed
  // The first person of the account may have been erased meanwhile. A later erasure finds this change itself.
  const since = await erasedHmacsOf(redis, account, names)
  return since === undefined ? changed : [...changed, ...(await runChange(redis, account, names, since, how))]
}

async function runChange(
  redis: Redis,
  account: number,
  names: Names,
  hmacs: readonly string[] | undefined,
  { intent, source, atMs: at, replicated = true }: Change,
): Promise<Names> {
  const { optOuts, erasedOptOuts: erased, optOutSources: sources, optOutEnds: ends } = contactKeys(account)
  const indexes = oneOfForms(names)
  const people = indexes.map(([first]) => names[first] ?? '')
  const hmacsOfPeople = hmacs && indexes.map(([first]) => hmacs[first] ?? '')
  const forms = indexes.some(([, ...others]) => others.length > 0)
    ? indexes.map((all) => all.map((at) => ({ name: names[at] ?? '', hmac: hmacs?.[at] })))
    : undefined
  const reply = await changeScript(
    redis,
    { optOuts, erased, sources, ends },
    { intent, people, source, hmacs: hmacsOfPeople, at, forms },
    { replicated },
  )
  return z.array(z.string()).parse(reply)
}

/** For each number or id, the indexes of its forms in the list. */
function oneOfForms(names: Names): [first: number, ...others: number[]][] {
  const indexes = new Map<string, [number, ...number[]]>()
  for (const [at, name] of names.entries()) {
    const main = mainForm(name)
    const others = indexes.get(main)
    if (others === undefined) indexes.set(main, [at])
    else others.push(at)
  }
  return [...indexes.values()]
}

/** The person's opt-out, under any of their names; undefined without one. */
export async function findOptOut(redis: Redis, account: number, person: string): Promise<OptOut | undefined> {
  const { optOuts, optOutSources, erasedOptOuts } = contactKeys(account)
  const standing = async (list: string, name: string): Promise<OptOut[]> => {
    const [since, times] = await Promise.all([redis.zscore(list, name), redis.hget(optOutSources, name)])
    return since === null ? [] : [shown(person, Number(since), times)]
  }
  const names = await namesOf(redis, account, person)
  const hmacs = (await erasedHmacsOf(redis, account, names)) ?? []
  const found = await Promise.all([
    ...names.map((name) => standing(optOuts, name)),
    ...hmacs.map((hmac) => standing(erasedOptOuts, hmac)),
  ])
  // An erased person who opted out again is on both lists.
  return found.flat().sort((one, other) => one.since.localeCompare(other.since))[0]
}

/** The indexes of those people who have opted out, given all names of each. Two or three commands, whatever their number. */
export async function optedOutAmong(
  redis: Redis,
  account: number,
  people: readonly Names[],
): Promise<ReadonlySet<number>> {
  const names = people.flat()
  if (names.length === 0) return NOBODY
  const { optOuts, erasedOptOuts } = contactKeys(account)
  const [found, ofErased] = await Promise.all([
    redis.zmscore(optOuts, ...names),
    erasedHmacsOf(redis, account, names).then((hmacs) => (hmacs ? redis.zmscore(erasedOptOuts, ...hmacs) : [])),
  ])
  if (found.every(isNull) && ofErased.every(isNull)) return NOBODY
  const indexes = people.flatMap((each, i) => each.map(() => i))
  return new Set(indexes.filter((_index, i) => found[i] !== null || (ofErased[i] ?? null) !== null))
}

const NOBODY: ReadonlySet<number> = new Set()
const isNull = (score: string | null): boolean => score === null

/** The cursor of a page: the last entry of the page before. */
const CURSOR = /^(\d{1,16})_(.+)$/
/** Whether a text can be a cursor. */
export const isOptOutCursor = (text: string): boolean => CURSOR.test(text)

/** A page, the latest first, without erased people; `next` is the cursor of the next page, null on the last. */
export async function listOptOuts(
  redis: Redis,
  account: number,
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ data: OptOut[]; next: string | null }> {
  const { optOuts, optOutSources } = contactKeys(account)
  const from = cursor === undefined ? 0 : await rankAfter(redis, optOuts, cursor)
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

/** How many entries precede the page, also when the cursor's own entry is gone. */
async function rankAfter(redis: Redis, key: string, cursor: string): Promise<number> {
  const [, at = '0', person = ''] = CURSOR.exec(cursor) ?? []
  const rank = await redis.zrevrank(key, person)
  return rank === null ? redis.zcount(key, `(${at}`, '+inf') : rank + 1
}

const timesSchema = jsonText.pipe(z.partialRecord(z.enum(OPT_OUT_SOURCES), z.tuple([z.number(), z.number()])))

/** Its source is the earliest one that has not taken it back. */
function shown(person: string, at: number, times: string | null): OptOut {
  const said = Object.entries(timesSchema.catch({}).parse(times)).sort(([, one], [, other]) => one[0] - other[0])
  const [first] = said.flatMap(([source]) => OPT_OUT_SOURCES.filter((known) => known === source))
  return { person, source: first ?? 'http', since: iso(at) }
}
