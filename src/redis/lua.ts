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
// Keys go to Redis one by one, since a cluster looks at them; all arguments go packed, as one, in the order of the
// head. The names of the head are compared with the code when a script is loaded, and with what is given at every run;
// in the code Redis itself refuses a name that nobody declared.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Packr } from 'msgpackr'
import type { Redis } from './connect.ts'
import { isUnknownScript } from './errors.ts'

/** What a script can be given: it arrives as the Lua value of the same kind; bytes, which may not lie deeper, as a string. */
export type Argument = Value | Uint8Array
type Value = string | number | boolean | readonly Value[] | { readonly [name: string]: Value | undefined }

/** Runs a script. What it returns is whatever the Lua code returns: check it with zod before use. */
export type Script = (
  redis: Redis,
  keys: Readonly<Record<string, string>>,
  args?: Readonly<Record<string, Argument | undefined>>,
) => Promise<unknown>

/** Lua knows no undefined: what is not given is nil. */
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
 * the script's SHA-1, and its text only to a server that does not know it yet, as after a restart. `constants` is one
 * line of Lua in place of the line `-- constants`. Throws when the head of the script and its code disagree; the caller
 * rejects when it is given other names than the head has.
 */
export function defineScript(module: string, name: string, constants?: string): Script {
  const text = readScript(new URL(`./scripts/${name}.lua`, module))
  if (CONSTANTS.test(text) !== (constants !== undefined)) throw new Error(`script ${name} and its constants do not fit`)
  const source = text.replace(CONSTANTS, constants ?? '')
  const sha = createHash('sha1').update(source).digest('hex')
  const head = headOf(name, source)
  return async (redis, keys, args = {}) => {
    check(head.keys, keys)
    check(head.args, args)
    const given: (string | Buffer)[] = head.keys.names.map((key) => keys[key] ?? '')
    if (head.args.names.length > 0) given.push(packed(listOf(head.args.names, args)))
    try {
      return await redis.evalsha(sha, head.keys.names.length, ...given)
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return redis.eval(source, head.keys.names.length, ...given)
    }
  }
}

/** Stands where the constants of a script go. */
const CONSTANTS = /^-- constants$/m

/**
 * The text of a script, with each line `-- include <path>` replaced by that script; the path is relative to its folder.
 */
function readScript(url: URL): string {
  return readFileSync(url, 'utf8').replace(/^-- include ([\w./-]+)$/gm, (_line, path: string) =>
    readScript(new URL(`${path}.lua`, url)),
  )
}

/** Names in the order of the head. */
interface Names {
  /** For errors. */
  where: string
  names: readonly string[]
  required: readonly string[]
  known: ReadonlySet<string>
}

/** The names at the head of a script. Throws when its code takes other ones, or never looks at one. */
function headOf(script: string, source: string): { keys: Names; args: Names } {
  const [keys, args] = [namesUnder(script, 'Keys', source), namesUnder(script, 'Arguments', source)]
  const taken = /^local (.+) = unpack\(KEYS\)$/m.exec(source)?.[1] ?? ''
  if (taken !== keys.names.join(', ')) throw new Error(`script ${script}: its code takes the keys "${taken}"`)
  const unpacked = /^local ([\w,\s]+?)\s+=\s+unpack\(cmsgpack\.unpack\(ARGV\[1\]\), 1, (\d+)\)$/m.exec(source)
  const read = unpacked?.[1]?.split(/,\s+/) ?? []
  if (read.join() !== args.names.join() || Number(unpacked?.[2] ?? 0) !== read.length) {
    throw new Error(`script ${script}: its code takes the arguments "${read.join(', ')}"`)
  }
  const code = source.slice(unpacked === null ? 0 : unpacked.index + unpacked[0].length).replace(/--.*$/gm, '')
  for (const each of args.names) {
    if (!new RegExp(`\\b${each}\\b`).test(code)) throw new Error(`script ${script}: its code does not read ${each}`)
  }
  return { keys, args }
}

/** `name` or `name?` of each line of a list in the head. */
function namesUnder(script: string, title: string, source: string): Names {
  const list = new RegExp(`^-- ${title}:\\n((?:--   .*\\n)+)`, 'm').exec(source)?.[1] ?? ''
  const lines = [...list.matchAll(/^-- {3}(\w+)(\??)(?= |$)/gm)]
  const names = lines.map(([, name = '']) => name)
  const required = names.filter((_name, i) => lines[i]?.[2] === '')
  return { where: `script ${script}, ${title}`, names, required, known: new Set(names) }
}

/** The values in the order of the names; what is not given at the end is left out, which reads as nil as well. */
function listOf(names: readonly string[], args: Readonly<Record<string, Argument | undefined>>) {
  const list = names.map((name) => args[name])
  while (list.length > 1 && list.at(-1) === undefined) list.pop()
  return list
}

/** Throws when one is missing that must be there, and when there is one that the script does not know. */
function check({ where, required, known }: Names, given: Readonly<Record<string, unknown>>): void {
  for (const name of required) if (given[name] === undefined) throw new Error(`${where}: ${name} is missing`)
  for (const name in given) if (!known.has(name)) throw new Error(`${where}: ${name} is not known`)
}
