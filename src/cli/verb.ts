// How a verb of the command line is declared: one schema holds its arguments and options, how each is read and what the help
// says of it.
import type { Readable, Writable } from 'node:stream'
import { z } from 'zod'
import type { FileStore } from '../files/store.ts'
import type { Config } from '../kernel/config.ts'
import { quoted } from '../kernel/fault.ts'
import { iso } from '../kernel/instant.ts'
import { isZone, parseMoment } from '../kernel/moment.ts'
import { ended } from '../kernel/refusal.ts'
import { faultsOf } from '../kernel/zod-faults.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'

/** What a verb answers: one document for scripts (`--json`), or lines for people. */
export interface Answer {
  json: unknown
  text: string
  /** Why the command ends with 1 although it has an answer, which is printed first. */
  fails?: string | undefined
  /** What was done to what, for the activity; undefined where nothing was done. */
  acted?: Acted | readonly Acted[] | undefined
}

/** What only the verb knows of what was done: ids, names, words and figures; never a number, a text or a secret. */
export interface Acted {
  /** NO_ACCOUNT for the whole installation. */
  account: number
  target?: string | undefined
  detail?: string | undefined
}

/** What a verb works with. Answers are returned, never written: `stderr` is for progress only. */
export interface CommandContext {
  redis: Redis
  config: Config & { files: FileStore }
  stdin: Readable
  stderr: Writable
  /** Closes it when the command ends, however that is. Returns it. */
  use<T extends { close(): Promise<unknown> }>(opened: T): T
}

/** How a verb is called. */
interface Usage {
  /** Name and arguments: `revoke <id>`. */
  usage: string
  summary: string
  /** Runs when the noun is used alone. */
  isDefault?: true
  /** What the activity calls it, such as `lane.pause`, for a verb that changes something. */
  act?: string
  /** The rest of a command line that works, after noun and verb. */
  example: string
  /** Whether `account` may name a removed one that something is kept of. */
  takesRemovedAccount?: true
}

/** An option as the help shows it. */
export interface ShownOption {
  /** `--account <id>`. */
  flags: string
  meaning: string
  isRequired: boolean
}

/** A command of a noun. */
export interface Verb extends Usage {
  options: readonly ShownOption[]
  /**
   * Checks arguments and options, each under its camel-cased name, and returns the account that was named, if any, and the
   * work to do. Throws a CliFailure that names all that was typed wrongly; `spelling` turns a name into what is typed,
   * `--expires-in` or `<id>`.
   */
  prepare(
    typed: Record<string, unknown>,
    spelling: (name: string) => string,
  ): { account: number | undefined; run: (context: CommandContext) => Promise<Answer> }
}

const help = z.registry<{ placeholder: string; meaning: string }>()

/** An option with a value: how it is read, the placeholder of the value, and its meaning. One that may be left out is not required. */
export function option<S extends z.ZodType>(schema: S, placeholder: string, meaning: string): S {
  const own = schema.clone()
  help.add(own, { placeholder: ` <${placeholder}>`, meaning })
  return own
}

/** An option without a value. */
export const flag = (meaning: string) => z.boolean().default(false).register(help, { placeholder: '', meaning })

/** Declares a verb. Values that `usage` does not name are options. `check` reports what is wrong with values together. */
export function verb<Shape extends z.ZodRawShape>(
  declared: Usage & {
    values: Shape
    check?: (values: z.output<z.ZodObject<Shape>>, wrong: (name: keyof Shape & string, message: string) => void) => void
    run: (values: z.output<z.ZodObject<Shape>>, context: CommandContext) => Promise<Answer>
  },
): Verb {
  const { values: shape, check, run, ...usage } = declared
  const schema = z.strictObject(shape)
  const isTime = (name: string, value: unknown): boolean =>
    (value instanceof z.ZodType && help.get(value)?.placeholder === ' <time>') ||
    (name === 'time' && usage.usage.includes('<time>'))
  const times = Object.entries(schema.shape).flatMap(([name, value]) => (isTime(name, value) ? [name] : []))
  const options = Object.entries(schema.shape).flatMap(([name, value]) => {
    const shown = value instanceof z.ZodType ? help.get(value) : undefined
    if (shown === undefined || !(value instanceof z.ZodType)) return []
    const long = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const isRequired = !value.safeParse(undefined).success
    return [{ flags: `--${long}${shown.placeholder}`, meaning: shown.meaning, isRequired }]
  })
  return {
    ...usage,
    options: times.length === 0 ? options : [...options, ZONE],
    prepare(typed, spelling) {
      const { zone, ...given } = typed
      if (zone !== undefined && !isZone(String(zone))) {
        throw new CliFailure(`${spelling('zone')}: expected a zone such as Europe/Berlin, got ${quoted(zone)}.`, 2)
      }
      const readable = withTimes(given, times, zone)
      const faults: { path: string; message: string }[] = []
      const parsed = schema.safeParse(readable)
      if (!parsed.success) faults.push(...faultsOf(parsed.error, readable))
      else check?.(parsed.data, (path, message) => faults.push({ path, message }))
      if (!parsed.success || faults.length > 0) {
        throw new CliFailure(faults.map(({ path, message }) => ended(`${spelling(path)}: ${message}`)).join(' '), 2)
      }
      const account: unknown = Reflect.get(parsed.data, 'account')
      return {
        account: typeof account === 'number' && account > 0 ? account : undefined,
        run: (context) => run(parsed.data, context),
      }
    },
  }
}

/** Of every verb that takes times. */
const ZONE: ShownOption = {
  flags: '--zone <zone>',
  meaning: 'zone of times without one, such as Europe/Berlin; that of this machine if not given',
  isRequired: false,
}

/** The same with times as ISO 8601 has them. A text that is no time stays, and is refused by its schema. */
function withTimes(given: Record<string, unknown>, names: readonly string[], zone: unknown): Record<string, unknown> {
  const at = {
    nowMs: Date.now(),
    zone: typeof zone === 'string' ? zone : new Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
  const read = names.flatMap((name) => {
    const text = given[name]
    const ms = typeof text === 'string' ? parseMoment(text, at) : undefined
    return ms === undefined ? [] : [[name, iso(ms)] as const]
  })
  return { ...given, ...Object.fromEntries(read) }
}
