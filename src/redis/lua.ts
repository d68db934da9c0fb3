// Loads and runs Lua scripts. A script is one atomic step on Redis; it lives in the folder scripts/ beside the file
// that runs it. Its head names its keys and its arguments, and its caller gives both by these names:
//
//   -- Keys:
//   --   record       HASH   the message                       (a name is indented by three spaces,
//   --   inDoubt      ZSET   messages of the lane in doubt      a second line of its text by more)
//   -- Arguments:
//   --   ulid         of the message
//   --   detail?      may be left out
//   local record, inDoubt = unpack(KEYS)
//   local ulid, detail = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
//
// A script that takes a step of many things at once has `Arguments of each:` besides, and may have `Keys of each:`; with
// two keys for all, three of each and four arguments of each its code is:
//
//   local inDoubt, polls = unpack(KEYS, 1, 2)
//   local each = cmsgpack.unpack(ARGV[2])
//   local record, job, cooldown = unpack(KEYS, 3 * i, 3 * i + 2)
//   local ulid, kind, attempt, detail = unpack(each[i], 1, 4)
//
// Keys go to Redis one by one, since a cluster routes by them; all arguments go packed, as one, in the order of the
// head. The names of the head are compared with the code when a script is loaded, and with the arguments at every run;
// in the code Redis itself refuses a name that nobody declared. A script gets the fields and letters of what is stored
// from tables of TypeScript (`Constants`) and has them as `FIELD.state`. `redisNowMs()` is there in every script: the
// clock of Redis, epoch ms. `trustedNowMs()` is the same for scripts that take something away by the time: while the
// clock is not believed it ends the script with the error CLOCK, before anything was written (trusted-clock.ts).
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Packr } from 'msgpackr'
import type { Redis } from './connect.ts'
import { isUnknownScript } from './errors.ts'
import { SUFFIX } from './keys.ts'
import { needsReplicas, sendReplicated } from './replication.ts'
import { expectedRedisMs, LEAP_MS } from './trusted-clock.ts'

/** What a script can be given: it arrives as the Lua value of the same kind; bytes, which may not lie deeper, as a string. */
export type Argument = Value | Uint8Array
type Value = string | number | boolean | readonly (Value | undefined)[] | { readonly [name: string]: Value | undefined }

type Keys = Readonly<Record<string, string>>
type Arguments = Readonly<Record<string, Argument | undefined>>

/** Runs a script. What it returns is whatever the Lua code returns: check it with zod before use. */
export type Script = (redis: Redis, keys: Keys, args?: Arguments, how?: How) => Promise<unknown>

/** The same, of a script that takes a step of many things at once. */
export type ScriptOfMany = (
  redis: Redis,
  keys: Keys,
  args: Arguments,
  each: readonly { keys?: Keys; args: Arguments }[],
  how?: How,
) => Promise<unknown>

/** `replicated`: it waits for replicas where they are required, and rejects with a NotReplicatedError, see replication.ts. */
interface How {
  replicated?: boolean
}

/** Lua has no undefined: a missing value is nil. */
const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })

/** Redis' cmsgpack does not know MessagePack's own kind for bytes: they are packed as a string, which in Lua is bytes. */
function packed(list: readonly (Argument | undefined)[]): Buffer {
  if (!list.some((each) => each instanceof Uint8Array)) return packr.pack(list)
  const parts: Uint8Array[] = [Buffer.of(0xdc, list.length >> 8, list.length & 0xff)]
  for (const each of list) {
    if (each instanceof Uint8Array) {
      const head = Buffer.of(0xdb, 0, 0, 0, 0)
      head.writeUInt32BE(each.length, 1)
      parts.push(head, each)
    } else {
      // The packer may use its buffer again.
      parts.push(Buffer.from(packr.pack(each)))
    }
  }
  return Buffer.concat(parts)
}

/**
 * The caller of scripts/<name>.lua beside `module`, which is the import.meta.url of the module that defines it. Sends
 * the script's SHA-1, and its text only to a server that does not know it yet, as after a restart. Throws when the head of
 * the script and its code disagree; the caller rejects when it is given other names than the head has.
 */
export function defineScript(module: string, name: string, constants?: Constants): Script {
  const run = loadScript(module, name, constants)
  if (run.isOfMany) throw new Error(`script ${name} takes a step of many`)
  return (redis, keys, args = {}, how = {}) => run.with(redis, keys, args, [], how)
}

/** The same for a script that takes a step of many things at once. The caller gives it at least one. */
export function defineScriptOfMany(module: string, name: string, constants?: Constants): ScriptOfMany {
  const run = loadScript(module, name, constants)
  if (!run.isOfMany) throw new Error(`script ${name} takes a step of one`)
  return run.with
}

function loadScript(module: string, name: string, constants: Constants | undefined) {
  const text = withClock(readScript(new URL(`./scripts/${name}.lua`, module)))
  const { line, names = {} } = constants ?? {}
  if (CONSTANTS.test(text) !== (line !== undefined)) throw new Error(`script ${name} and its constants do not fit`)
  const source = withNames(name, text.replace(CONSTANTS, line ?? ''), { SUFFIX, ...names })
  const sha = createHash('sha1').update(source).digest('hex')
  const head = headOf(name, source)
  const isTrusting = source.includes('trustedNowMs()')
  const isOfMany = head.each.keys.names.length + head.each.args.names.length > 0
  const run: ScriptOfMany = async (redis, keys, args, each, how = {}) => {
    const [first] = each
    // All items have the same names, so checking the first is enough.
    if (first !== undefined) {
      refuseUnknown(head.each.keys, first.keys ?? {})
      refuseUnknown(head.each.args, first.args)
    }
    refuseUnknown(head.keys, keys)
    refuseUnknown(head.args, args)
    const given = keysFor(head, keys)
    if (head.each.keys.names.length > 0) {
      for (const one of each) for (const key of keysFor(head.each, one.keys ?? {})) given.push(key)
    }
    const argv: (Buffer | string)[] = head.args.names.length > 0 || isOfMany ? [packed(argumentsFor(head, args))] : []
    if (isOfMany) argv.push(packr.pack(each.map((one) => argumentsFor(head.each, one.args))))
    if (isTrusting) argv.push(expectedText(redis, given[0] ?? ''))
    const rest = [given.length, ...given, ...argv]
    const isReplicated = how.replicated === true && needsReplicas(redis)
    try {
      if (isReplicated) return await sendReplicated(redis, 'evalsha', [sha, ...rest], given[0] ?? '')
      return await redis.evalsha(sha, given.length, ...given, ...argv)
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      if (isReplicated) return sendReplicated(redis, 'eval', [source, ...rest], given[0] ?? '')
      return redis.eval(source, given.length, ...given, ...argv)
    }
  }
  return { isOfMany, with: run }
}

/** What a script does not know by itself. */
export interface Constants {
  /** A line of Lua in place of the line `-- constants`. */
  line?: string
  /** Tables that TypeScript has too: with `{ FIELD: { state: 's' } }` the code says `FIELD.state` for `'s'`. */
  names?: Readonly<Record<string, Readonly<Record<string, string | number>>>>
}

/** Stands where the constants of a script go. */
const CONSTANTS = /^-- constants$/m

/** A name of a table, as `FIELD.state`. */
const NAME = /\b([A-Z]{2,})\.(\w+)/g

/** The code with what its names stand for, written in when it is loaded: no run takes longer for them. */
const withNames = (script: string, code: string, tables: NonNullable<Constants['names']>): string =>
  code.replace(NAME, (text, table: string, name: string) => {
    const values = Object.hasOwn(tables, table) ? tables[table] : undefined
    const found = values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined
    if (found === undefined) throw new Error(`script ${script}: nobody knows ${text}`)
    return typeof found === 'number' ? String(found) : `'${found}'`
  })

/**
 * The text of a script, with each line `-- include <path>` replaced by that script, the first time; the path is relative to its folder.
 */
function readScript(url: URL, included = new Set<string>()): string {
  return readFileSync(url, 'utf8').replace(/^-- include ([\w./-]+)$/gm, (_line, path: string) => {
    const part = new URL(`${path}.lua`, url)
    if (included.has(part.href)) return ''
    included.add(part.href)
    return readScript(part, included)
  })
}

const CLOCK =
  "local function redisNowMs() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end"

/** The last argument of a script that asks for a trusted time: the expected time (ms), empty if unknown. */
const expectedText = (redis: Redis, key: string): string => expectedRedisMs(redis, key)?.toFixed() ?? ''

const TRUSTED = `local function trustedNowMs()
  local now, expected = redisNowMs(), tonumber(ARGV[#ARGV])
  if expected and math.abs(now - expected) > ${LEAP_MS} then error({ err = 'CLOCK The clock of Redis has leapt' }) end
  return now
end`

/** Gives a script that reads the clock the functions for it, behind its line of flags. */
function withClock(text: string): string {
  const isTrusting = text.includes('trustedNowMs()')
  if (!isTrusting && !text.includes('redisNowMs()')) return text
  return text.replace(/^(#!lua.*\n)?/, `$1${isTrusting ? `${CLOCK}\n${TRUSTED}` : CLOCK}\n`)
}

/** Names in the order of the head. */
interface Names {
  /** For errors. */
  where: string
  names: readonly string[]
  required: readonly string[]
  known: ReadonlySet<string>
}

/** What a script takes. */
interface Taken {
  keys: Names
  args: Names
}

/** The names at the head of a script. Throws when its code takes other ones, or never uses one. */
function headOf(script: string, source: string): Taken & { each: Taken } {
  const named = (title: string) => namesUnder(script, title, source)
  const head = { keys: named('Keys'), args: named('Arguments') }
  const each = { keys: named('Keys of each'), args: named('Arguments of each') }
  const [shared, ofEach] = [head.keys.names.length, each.keys.names.length]
  const positions = [`${ofEach} * i + ${shared - ofEach + 1}`, `${ofEach} * i + ${shared}`].map((at) =>
    at.replace(' + 0', ''),
  )
  const keysAt = (where: string) => {
    const end = source.indexOf(` = unpack(KEYS${where})\n`)
    const code = source.slice(source.lastIndexOf('local ', end) + 'local '.length, end)
    return end === -1 ? [] : code.split(/,\s+/)
  }
  const argumentsOf = (packed: string) => {
    const code = new RegExp(`^ *local ([\\w,\\s]+?)\\s+=\\s+unpack\\(${packed}, 1, (\\d+)\\)$`, 'm').exec(source)
    const names = code?.[1]?.split(/,\s+/) ?? []
    return Number(code?.[2] ?? 0) === names.length ? names : [`${names.length} of ${code?.[2]}`]
  }
  agree(head.keys, keysAt(ofEach === 0 ? '' : `, 1, ${shared}`))
  agree(head.args, argumentsOf('cmsgpack\\.unpack\\(ARGV\\[1\\]\\)'))
  if (ofEach > 0) agree(each.keys, keysAt(`, ${positions.join(', ')}`))
  if (each.args.names.length > 0) agree(each.args, argumentsOf('each\\[i\\]'))
  for (const name of [...head.args.names, ...each.args.names]) {
    // Once in the head, once where it is taken, and once where it is used.
    const code = source.replace(/--.*$/gm, '')
    if ([...code.matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length < 2) {
      throw new Error(`script ${script}: its code does not read ${name}`)
    }
  }
  return { ...head, each }
}

/** Throws when the code of a script takes other names than its head has. */
function agree({ where, names }: Names, taken: readonly string[]): void {
  if (taken.join() !== names.join()) throw new Error(`${where}: its code takes "${taken.join(', ')}"`)
}

/** `name` or `name?` of each line of a list in the head. */
function namesUnder(script: string, title: string, source: string): Names {
  const list = new RegExp(`^-- ${title}:\\n((?:--   .*\\n)+)`, 'm').exec(source)?.[1] ?? ''
  const lines = [...list.matchAll(/^-- {3}(\w+)(\??)(?= |$)/gm)]
  const names = lines.map(([, name = '']) => name)
  const required = names.filter((_name, i) => lines[i]?.[2] === '')
  return { where: `script ${script}, ${title}`, names, required, known: new Set(names) }
}

/** The keys in the order of the head. */
function keysFor({ keys }: Taken, given: Keys): string[] {
  refuseMissing(keys, given)
  return keys.names.map((name) => given[name] ?? '')
}

/** The values in the order of the names; missing values at the end are left out, which reads as nil as well. */
function argumentsFor({ args }: Taken, given: Arguments) {
  refuseMissing(args, given)
  const list = args.names.map((name) => given[name])
  while (list.length > 1 && list.at(-1) === undefined) list.pop()
  return list
}

/** Throws when one is missing that must be there. */
function refuseMissing({ where, required }: Names, given: Readonly<Record<string, unknown>>): void {
  for (const name of required) if (given[name] === undefined) throw new Error(`${where}: ${name} is missing`)
}

/** Throws when there is one that the script does not know. */
function refuseUnknown({ where, known }: Names, given: Readonly<Record<string, unknown>>): void {
  for (const name in given) if (!known.has(name)) throw new Error(`${where}: ${name} is not known`)
}
