// The names of people who have several, as reported by WhatsApp. Each name is stored with the person's others, so that one read of any
// name gives them all. Each takes few bytes; nothing is stored for a person with one name.
//
// A number with several forms is stored under its main one, and searched under all, because older releases stored any form. Callers get
// every form, the main one first.
//
// A bucket (names-buckets.lua) expires 400 days after its last write, and is rewritten before that while WhatsApp reports its names.
// Opt-outs are stored under all names of a person, and outlast that.
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { mostEntries } from '../../kernel/most-entries.ts'
import { formsOf, mainForm, withForms } from '../../kernel/national-forms.ts'
import { namesOfPerson, sealsOfPerson } from '../../kernel/sealed.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { learn, type Names, type Naming, personOf } from '../../model/people/person.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript, defineScriptOfMany } from '../../redis/lua.ts'
import { packNames, unpackNames } from './packed-names.ts'

const KEPT_MS = 400 * DAY_MS
/** Names that WhatsApp reports again are renewed if they would expire within this. */
const SOON_MS = KEPT_MS / 2
/** Bits of a name's digest: among a million people, one searched name in thirty million matches a wrong one. */
const DIGEST_BITS = 46
/**
 * Another process may write the same names at the same moment, and on a busy machine many do. Between tries this one waits up
 * to FIRST_PAUSE_MS, doubled each time up to MOST_PAUSE_MS: 4 s in all.
 */
const TRIES = 20
const FIRST_PAUSE_MS = 10
const MOST_PAUSE_MS = 500
const BUCKETS_AT_ONCE = 500

/** Accounts where nobody had two names at the last read: checked first, for a tenth of the cost of a read. */
const withoutNames = new LRUCache<string, true>({ ...mostEntries(10_000) })

const readScript = defineScript(import.meta.url, 'names-read')
const writeScript = defineScriptOfMany(import.meta.url, 'names-write')
const readReply = z.array(z.string())

/** All names of each of these people in their order, see person.ts, in all forms; most people have only the name that was given. */
export async function namesOfPeople(redis: Redis, account: number, people: readonly string[]): Promise<Names[]> {
  if (people.length === 0) return []
  const { names: size } = contactKeys(account)
  if (withoutNames.has(size) && (await redis.exists(size)) === 0) return people.map(formsOf)
  const mains = people.map(mainForm)
  const kept = await read(redis, account, mains)
  return mains.map((person) => withForms(kept.get(person)?.person ?? [person]))
}

/** Whether anybody of the account has two names; a second late. */
const hasNames = cached(
  1_000,
  async (redis: Redis, account: number) => (await redis.exists(contactKeys(account).names)) === 1,
)

/**
 * The same for messages that are about to leave, undefined for an account where nobody has other names than the forms of their number.
 * That may be a second late, because a check each time costs a campaign a tenth of its speed. Opt-outs are stored under every name, so
 * none is missed.
 */
export async function namesToSendTo(
  redis: Redis,
  account: number,
  people: readonly string[],
): Promise<Names[] | undefined> {
  return (await hasNames(redis, account)) ? namesOfPeople(redis, account, people) : undefined
}

/** The same for one person, checked both ways: each name must list the others. */
export async function namesOf(redis: Redis, account: number, person: string): Promise<Names> {
  const main = mainForm(person)
  const kept = await readWithOthers(redis, account, [main])
  const names = kept.get(main)?.person ?? [main]
  return withForms(names.filter((name) => kept.get(name)?.person.includes(main)))
}

/**
 * Stores what is new in WhatsApp's reports, in order. Returns the people with new names, with all their names. Dying in between leaves the
 * former state, and the webhook comes again. `known` is called with these people and their new names before anything is written.
 */
export async function keepNames(
  redis: Redis,
  account: number,
  reported: readonly Naming[],
  known: (people: readonly Names[]) => Promise<void> = async () => {},
): Promise<Names[]> {
  const namings = reported.map(inMainForms)
  for (let tries = 0; tries < TRIES; tries += 1) {
    const named = [...new Set(namings.flatMap(({ names, before = [] }) => names.concat(before)))]
    const kept = await readWithOthers(redis, account, named, SOON_MS)
    const before = new Map([...kept].map(([name, { person }]) => [name, person]))
    const after = new Map(before)
    for (const naming of namings) learn(after, naming)
    const endSoon = [...kept.values()].some((each) => each.endsSoon)
    const changed = [...after].filter(
      ([name, person]) => endSoon || person.join() !== (before.get(name) ?? [name]).join(),
    )
    if (changed.length === 0) return []
    const people = [...new Map(changed.map(([, person]) => [person.join(), withForms(person)])).values()]
    await known(people)
    if (await write(redis, account, kept, changed)) return people
    // Among many people one is often being written by another process: smaller steps collide less.
    const half = namings.length / 2
    if (half >= 1) {
      const first = await keepNames(redis, account, namings.slice(0, half), known)
      return [...first, ...(await keepNames(redis, account, namings.slice(half), known))]
    }
    await pause(Math.random() * Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries))
  }
  throw new Error('the names of a person change faster than they can be kept')
}

/** The naming with the main forms of its numbers. */
function inMainForms(naming: Naming): Naming {
  const names = [...new Set(naming.names.map(mainForm))]
  const before = naming.before && mainForm(naming.before)
  const sentTo = naming.sentTo && mainForm(naming.sentTo)
  return { ...naming, names, before: before !== undefined && names.includes(before) ? undefined : before, sentTo }
}

/** Deletes the link between these names. */
export async function forgetNames(redis: Redis, account: number, names: Names): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const kept = await readWithOthers(redis, account, [...new Set(names.map(mainForm))])
    const alone = [...kept.keys()].map((name) => [name, [name]] as const)
    if (await write(redis, account, kept, alone)) return
  }
  throw new Error('the names of a person change faster than they can be forgotten')
}

/** Deletes all names of an account. Repeating it removes what a dead process has left. */
export async function forgetAllNames(redis: Redis, account: number): Promise<void> {
  const { names: size, namesIn } = contactKeys(account)
  const buckets = Number((await redis.hget(size, 'buckets')) ?? 0)
  for (let next = 0; next < buckets; next += BUCKETS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(BUCKETS_AT_ONCE, buckets - next) }, (_none, i) => next + i)
    await redis.unlink(...numbers.map((number) => namesIn(String(number))))
  }
  await redis.unlink(size)
}

/** The stored entries of a name, for each form and each data key; the first is the one to write. */
interface Kept {
  person: Names
  stored: { digest: number; text: string }[]
  /** It is kept under another form or an older key, or ends within `soonMs`, or another one that was read with it does. */
  endsSoon: boolean
}

async function read(
  redis: Redis,
  account: number,
  names: readonly string[],
  soonMs?: number,
): Promise<Map<string, Kept>> {
  const { names: size, namesIn } = contactKeys(account)
  const digests = names.map(digestsOf)
  const args = { buckets: namesIn(''), digests: digests.flat(), soonMs }
  const reply = readReply.parse(await readScript(redis, { size }, args))
  const endsSoon = reply.at(-1) === 'soon'
  if (reply.length === 0) withoutNames.set(size, true)
  else withoutNames.delete(size)
  const kept = new Map<string, Kept>()
  let at = 0
  for (const [i, name] of names.entries()) {
    const stored = (digests[i] ?? []).map((digest) => ({ digest, text: reply[at++] ?? '' }))
    const found = stored.findIndex(({ text }) => text !== '')
    const person = found < 0 ? [name] : personOf(name, othersIn(name, stored))
    kept.set(name, { person, stored, endsSoon: endsSoon || found > 0 })
  }
  return kept
}

/** The other names stored with this one. */
function othersIn(name: string, stored: Kept['stored']): Names {
  const seals = formsOf(name).flatMap(sealsOfPerson)
  const found = stored.flatMap(({ text }, i) => {
    const open = seals[i]
    return text === '' || open === undefined ? [] : unpackNames(open(Buffer.from(text, 'hex'))).map(mainForm)
  })
  return [...new Set(found)].filter((other) => other !== name)
}

/** The same, and of all names that these people have besides. */
async function readWithOthers(
  redis: Redis,
  account: number,
  names: readonly string[],
  soonMs?: number,
): Promise<Map<string, Kept>> {
  const kept = await read(redis, account, names, soonMs)
  const others = [...new Set([...kept.values()].flatMap(({ person }) => person))].filter((name) => !kept.has(name))
  if (others.length > 0) for (const [name, each] of await read(redis, account, others, soonMs)) kept.set(name, each)
  return kept
}

const digestsOf = (person: string): number[] =>
  formsOf(person)
    .flatMap(namesOfPerson)
    .map((name) => hash('sha256', name, 'buffer').readUIntBE(0, 6) % 2 ** DIGEST_BITS)

/** False when one of them has changed since it was read. */
async function write(
  redis: Redis,
  account: number,
  kept: ReadonlyMap<string, Kept>,
  changed: readonly (readonly [string, Names])[],
): Promise<boolean> {
  const { names: size, namesIn } = contactKeys(account)
  const each = changed.flatMap(([name, person]) => {
    const others = person.filter((other) => other !== name)
    const [seal = (bytes: Buffer) => bytes] = sealsOfPerson(name)
    const sealed = others.length === 0 ? '' : seal(packNames(others)).toString('hex')
    const stored = kept.get(name)?.stored ?? []
    return stored.map(({ digest, text }, i) => ({ args: { digest, before: text, after: i === 0 ? sealed : '' } }))
  })
  if (each.length === 0) return true
  return (await writeScript(redis, { size }, { buckets: namesIn(''), keptMs: KEPT_MS }, each)) === 1
}
