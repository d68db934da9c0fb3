// Pins: the rooms of src/ know each other in one direction only, the simulator stands alone, and what only one file
// may know stands in that file.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')
const SIMULATOR = resolve(import.meta.dirname, '../../simulator')
const CLIENT = resolve(import.meta.dirname, '../../packages/client/src')

/**
 * The rooms of src/ from the ground up. A room may import any room of a line above its own, and nothing of its own line or
 * below. A room is a folder or a file; what is not named belongs to the deepest named folder around it. In a feature's
 * folder, `store/` is what it keeps in Redis, and what lies beside that is pure.
 */
const LEVELS: readonly (readonly string[])[] = [
  [
    'accounts',
    'deadline',
    'files',
    'gallery',
    'messages',
    'node-line',
    'notices',
    'people/opt-outs',
    'portfolios',
    'redis-address',
    'version',
  ],
  ['campaigns', 'config-checks', 'flows', 'outbound', 'people/names', 'tracing'],
  ['jobs'],
  ['events'],
  ['config', 'providers'],
  ['log'],
  ['redis', 'repeatedly'],
  ['people/names'],
  ['accounts', 'people/contacts', 'reports', 'observe', 'people/opt-outs', 'queue'],
  ['flows', 'gallery', 'lanes/messages', 'portfolios'],
  ['campaigns/store', 'lanes'],
  ['events/store', 'lanes', 'messages/accept', 'telemetry'],
  [
    'admin',
    'campaigns/commands',
    'people/contacts',
    'events/commands',
    'flows',
    'portfolios/commands',
  ],
  ['messages/lookup', 'messages/requeue', 'reports'],
  ['campaigns/fan-out', 'people'],
  ['campaigns/preflight', 'people/opt-outs/commands'],
  ['reports'],
  ['producer', 'worker'],
  ['cli', 'console', 'start'],
]
const levelOf = new Map(LEVELS.flatMap((rooms, level) => rooms.map((room) => [room, level] as const)))

/** The page of a browser: of the rest it knows types and pure tables. */
const PURE_FOR_CONSOLE =
  /^(messages|jobs|messages\/lookup|campaigns|campaigns\/commands|telemetry|producer|accounts|events|lanes|notices|people\/opt-outs|portfolios|providers|files)$/

/** What of the producer may know a provider. */
const PROVIDERS_IN_PRODUCER = [
  'producer/api/flows/handlers.ts',
  'producer/api/messages/media-handlers.ts',
  'producer/api/messages/read-handlers.ts',
  'producer/api/routes.ts',
  'producer/api/webhooks/handlers.ts',
  'producer/api/webhooks/learn.ts',
]

interface Source {
  /** Path below src/. */
  file: string
  text: string
  /** Files below src/ that it imports. */
  imports: readonly string[]
  packages: readonly string[]
}

/** A line that ends an import or export of another file, or an import in the middle of the code. */
const IMPORT = /^(?:import|export\b.* from|\} from|import\b.* from) ['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm

function readSource(path: string, root = SRC): Source {
  const text = readFileSync(path, 'utf8')
  const named = [...text.matchAll(IMPORT)].map(([, fixed, dynamic]) => fixed ?? dynamic ?? '')
  return {
    file: relative(root, path),
    text,
    imports: named.filter((name) => name.startsWith('.')).map((name) => relative(root, join(dirname(path), name))),
    packages: named.filter((name) => !name.startsWith('.')),
  }
}

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readSource(join(SRC, file)))

/** The deepest named room that a file is in. */
function roomOf(file: string): string {
  const parts = file.replace(/\.ts$/, '').split('/')
  const names = parts.map((_, i) => parts.slice(0, parts.length - i).join('/'))
  return names.find((name) => levelOf.has(name)) ?? `none (${file})`
}
const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

test('imports are seen at all', () => {
  const pipeline = sources.find(({ file }) => file === 'worker/sending/chunk-worker.ts')
  expect(pipeline?.imports).toContain('lanes/bullmq/layout.ts')
  expect(sources.find(({ file }) => file === 'lanes/bullmq/worker.ts')?.packages).toContain('bullmq')
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(2 * sources.length)
})

test('a room imports only rooms of the levels before its own', () => {
  const wrong = sources.flatMap(({ file, imports }) => {
    const room = roomOf(file)
    return imports
      .filter((imported) => roomOf(imported) !== room)
      .filter((imported) => !((levelOf.get(roomOf(imported)) ?? Infinity) < (levelOf.get(room) ?? -1)))
      .map((imported) => `${file} (${room}) imports ${imported} (${roomOf(imported)})`)
  })
  expect(wrong).toEqual([])
})

test("the console's page imports nothing that a browser cannot run", () => {
  const wrong = sources
    .filter(({ file }) => roomOf(file) === 'console')
    .flatMap(({ file, imports }) =>
      imports
        .map((imported) => roomOf(imported))
        .filter((room) => room !== 'console' && !PURE_FOR_CONSOLE.test(room))
        .map((room) => `${file}: ${room}`),
    )
  expect(wrong).toEqual([])
})

/** Files below src/ and packages that a file needs when it runs; types are gone by then. */
function neededBy(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/^(?:import|export) (?!type\b)([^'"]*?)from ['"]([^'"]+)['"]/gm)]
    .filter(([, names = '']) => !/^\{(\s*type \w+( as \w+)?,?)+\s*\} $/.test(names))
    .map(([, , name = '']) => (name.startsWith('.') ? relative(SRC, join(dirname(join(SRC, file)), name)) : name))
}

test("the console's page loads no schemas, which would double its scripts", () => {
  const reached = new Map<string, string>()
  const visit = (file: string, from: string): void => {
    if (reached.has(file)) return
    reached.set(file, from)
    if (/\.tsx?$/.test(file)) for (const needed of neededBy(file)) visit(needed, file)
  }
  visit('console/main.tsx', '')
  expect(reached.has('console/pages/campaign-new.tsx')).toBe(true)
  expect(reached.get('zod')).toBeUndefined()
})

test('files do not import each other in a circle', () => {
  const byFile = new Map(sources.map((source) => [source.file, source.imports]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
    if (done.has(file)) return
    done.add(file)
    for (const imported of byFile.get(file) ?? []) visit(imported, [...path, file])
  }
  for (const { file } of sources) visit(file, [])
  expect(circles).toEqual([])
})

test('of the producer, only the webhook and what wires it up know a provider', () => {
  const knowing = sources
    .filter(({ file, imports }) => roomOf(file) === 'producer' && imports.some((name) => roomOf(name) === 'providers'))
    .map(({ file }) => file)
  expect(knowing.sort()).toEqual(PROVIDERS_IN_PRODUCER)
})

test('the simulator and the service import nothing of each other or of the client', () => {
  const outside = readdirSync(SIMULATOR, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => readSource(join(SIMULATOR, file), SIMULATOR).imports.filter((name) => name.startsWith('..')))
  expect(outside).toEqual([])
  expect(sources.flatMap(({ imports }) => imports.filter((name) => name.startsWith('..')))).toEqual([])
})

test('of the service the client takes types, and how it connects to Redis', () => {
  const taken = readdirSync(CLIENT).flatMap((file) => {
    const { imports, text } = readSource(join(CLIENT, file), CLIENT)
    const ofService = imports.filter((name) => name.startsWith('..'))
    // Its build writes types out in full, and puts what is used at run time into the package.
    if (file === 'types.ts') return text.match(/^import (?!type)/gm) ?? []
    return ofService.map((name) => name.replace('../../../src/', ''))
  })
  expect([...new Set(taken)]).toEqual(['redis/connect.ts', 'redis/errors.ts', 'redis-address.ts'])
})

test('the client brings only what it needs for the intake queue', () => {
  const packages = readdirSync(CLIENT).flatMap((file) => readSource(join(CLIENT, file), CLIENT).packages)
  expect([...new Set(packages)].filter((name) => !/^(?:node:|zod$)/.test(name)).sort()).toEqual(['bullmq', 'ioredis'])
})

test('only src/lanes imports BullMQ', () => {
  const knowing = sources.filter(({ packages }) => packages.includes('bullmq')).map(({ file }) => file)
  expect(knowing.filter((file) => roomOf(file) !== 'queue')).toEqual([])
})

test('only scripts of src/lanes move jobs from one list of BullMQ to another, or know how it scores them', () => {
  const moves = [
    /'(?:LPUSH|RPUSH|LPOP|RPOP|LREM|LINSERT|LMOVE|LTRIM|ZADD|ZREM)', (?:waiting|prioritized|delayed|active|failed|marker|chunks)/,
    /[*/] 4096\b|0x100000000|'(?:priority|delay|opts)'/,
  ]
  const moving = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .filter((file) => moves.some((move) => move.test(readFileSync(join(SRC, file), 'utf8'))))
  expect(moving).toContain('lanes/bullmq/scripts/message-jobs.lua')
  expect(moving.filter((file) => !file.startsWith('queue/'))).toEqual([])
})

test('nothing but the simulator knows its reserved numbers', () => {
  // The command line shows some as examples in its help.
  const others = filesWith(/555[ -]?010/).filter((file) => roomOf(file) !== 'cli')
  expect(others).toEqual([])
})

test('what a message, a job and a campaign are, is pure: no clock, no chance, no network', () => {
  const pure = sources.filter(({ file }) => ['messages', 'jobs', 'campaigns'].includes(roomOf(file)))
  const packages = new Set(pure.flatMap((source) => source.packages))
  // node:crypto for digests and for the random part of ids.
  expect([...packages].filter((name) => !/^(zod|libphonenumber-js(\/\w+)?|node:crypto)$/.test(name))).toEqual([])
  const clocks = /\bDate\.now\(|\bnew Date\(\)|performance\.now\(|Math\.random\(|\bfetch\(|setTimeout\(/
  expect(pure.filter(({ text }) => clocks.test(text)).map(({ file }) => file)).toEqual([])
})

test.each<[string, RegExp, readonly string[]]>([
  // The last one reads no setting: it tells the S3 library something, which listens to nothing else.
  ['the environment', /\bprocess\.env\b/, ['config.ts']],
  ['Redis keys', /['"`]lw:/, ['redis/keys.ts']],
  [
    'how to connect to Redis',
    /from 'ioredis'/,
    // The last one asks a Redis that it has just started whether it is there at all.
    ['redis/connect.ts', 'redis/connections.ts', 'redis/replication.ts', 'redis/safety.ts', 'start/embedded-redis.ts'],
  ],
  [
    'where BullMQ keeps what',
    /:(wait|prioritized|delayed|active|stalled|failed|completed|limiter|marker|meta|pc)[`'"]/,
    ['lanes/bullmq/layout.ts'],
  ],
  [
    "the fields of BullMQ's jobs",
    /'(failedReason|finishedOn|returnvalue|stacktrace|atm|ats|stc)'/,
    ['lanes/bullmq/layout.ts', 'lanes/bullmq/repair.ts'],
  ],
  [
    "BullMQ's errors",
    /\b(DelayedError|RateLimitError|UnrecoverableError|Waiting(Children)?Error)\b/,
    ['lanes/bullmq/worker.ts'],
  ],
])('%s: only one place knows', (_what, pattern, files) => {
  expect(filesWith(pattern).sort()).toEqual(files)
})

test('processes log through pino; only what talks to a terminal prints', () => {
  const printing = filesWith(/\bconsole\.\w+\(|process\.std(out|err)\.write\(/)
  expect(printing.filter((file) => !/^(cli|start)\b/.test(file))).toEqual([])
})
