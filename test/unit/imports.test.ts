// Pins: the rooms of src/ know each other in one direction only, the simulator stands alone, and what only one file
// may know stands in that file.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ROOMS } from '../support/rooms.ts'

const SRC = resolve(import.meta.dirname, '../../src')
const SIMULATOR = resolve(import.meta.dirname, '../../packages/simulator/src')
const CLIENT = resolve(import.meta.dirname, '../../packages/client/src')

/** What of the producer may know a provider. */
const PROVIDERS_IN_PRODUCER = [
  'producer/api/flows/handlers.ts',
  'producer/api/messages/media-handlers.ts',
  'producer/api/messages/read-handlers.ts',
  'producer/api/routes.ts',
  'producer/api/webhooks/apply-status.ts',
  'producer/api/webhooks/handlers.ts',
  'producer/api/webhooks/learn.ts',
  'producer/api/webhooks/receive.ts',
  'producer/api/webhooks/store-received.ts',
  'producer/api/webhooks/take-account-update.ts',
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

/** The folder of src/ that a file is in; a file of src/ itself is a room of its own. */
const roomOf = (file: string): string => file.split('/')[0] ?? file
const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

test('the check finds imports', () => {
  const places = sources.find(({ file }) => file === 'worker/sending/read-places.ts')
  expect(places?.imports).toContain('lanes/places.ts')
  expect(sources.find(({ file }) => file === 'lanes/bullmq/worker.ts')?.packages).toContain('bullmq')
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(2 * sources.length)
})

/** Imports of one room by another, as `from -> to: file imports file`. */
const crossingsIn = (files: readonly Pick<Source, 'file' | 'imports'>[]) =>
  files.flatMap(({ file, imports }) =>
    imports
      .filter((imported) => roomOf(imported) !== roomOf(file))
      .map((imported) => ({ from: roomOf(file), to: roomOf(imported), says: `${file} imports ${imported}` })),
  )
type Crossing = ReturnType<typeof crossingsIn>[number]

/** Those between two rooms that import each other. */
function mutualAmong(crossings: readonly Crossing[]): string[] {
  const ways = new Set(crossings.map(({ from, to }) => `${from} ${to}`))
  return crossings.filter(({ from, to }) => ways.has(`${to} ${from}`)).map(({ says }) => says)
}

/** Those of a room by one that is above it in the list. */
const upwardAmong = (crossings: readonly Crossing[]): string[] =>
  crossings.filter(({ from, to }) => ROOMS.indexOf(to) > ROOMS.indexOf(from)).map(({ says }) => says)

const crossings = crossingsIn(sources)

test('the listed rooms are exactly the folders of src/', () => {
  expect([...new Set(sources.map(({ file }) => roomOf(file)))].sort()).toEqual([...ROOMS].sort())
})

test('no two folders import each other', () => {
  expect(mutualAmong(crossings)).toEqual([])
})

test('a folder imports only folders above it in the list', () => {
  expect(upwardAmong(crossings)).toEqual([])
})

test('one wrong import would be found by both', () => {
  const wrong = crossingsIn([...sources, { file: 'model/message.ts', imports: ['lanes/places.ts'] }])
  expect(upwardAmong(wrong)).toEqual(['model/message.ts imports lanes/places.ts'])
  expect(mutualAmong(wrong)).toContain('model/message.ts imports lanes/places.ts')
})

/** Files below src/ and packages that a file needs when it runs; types are gone by then. */
function neededBy(file: string): string[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/^(?:import|export) (?!type\b)([^'"]*?)from ['"]([^'"]+)['"]/gm)]
    .filter(([, names = '']) => !/^\{(\s*type \w+( as \w+)?,?)+\s*\} $/.test(names))
    .map(([, , name = '']) => (name.startsWith('.') ? relative(SRC, join(dirname(join(SRC, file)), name)) : name))
}

/** The file, and all files and packages that are loaded with it; not what it imports later, in the middle of its code. */
function loadedWith(file: string): string[] {
  const reached = new Set<string>()
  const visit = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    if (/\.tsx?$/.test(name)) for (const needed of neededBy(name)) visit(needed)
  }
  visit(file)
  return [...reached]
}

test("the console's page loads only what a browser can run, and no schemas, which would double its scripts", () => {
  const loaded = loadedWith('../packages/console/src/main.tsx')
  expect(loaded).toContain('../packages/console/src/pages/campaign-new.tsx')
  const packages = loaded.filter((name) => !/\.(tsx?|css)$/.test(name))
  expect(packages.filter((name) => !/^(@preact\/signals|preact(\/\w+)?)$/.test(name))).toEqual([])
})

test.each(['start/run-part.ts', 'start/everything.ts'])(
  '%s loads nothing that uses Redis, as most refused starts do not need it',
  (file) => {
    const loaded = loadedWith(file)
    expect(loaded).toContain('kernel/config.ts')
    const files = loaded.filter((name) => name.endsWith('.ts'))
    expect(files.filter((name) => !['kernel', 'start'].includes(roomOf(name)))).toEqual([])
    expect(loaded).not.toContain('ioredis')
  },
)

test('producer and worker start without what few of them ever need', () => {
  const loaded = [...loadedWith('producer/main.ts'), ...loadedWith('worker/main.ts')]
  expect(loaded).toContain('bullmq')
  expect(loaded.filter((name) => /^(@bull-board|@aws-sdk|file-type)/.test(name))).toEqual([])
})

test('the command line starts with what parses words and prints help, and a verb loads nothing of the servers', () => {
  const packagesOf = (file: string) => loadedWith(file).filter((name) => !/\.ts$|^node:/.test(name))
  // Nouns, and how a verb is run, are loaded once they are typed.
  expect(packagesOf('cli.ts').sort()).toEqual(['commander', 'zod'])
  const files = loadedWith('cli.ts').filter((name) => name.endsWith('.ts'))
  expect(files.filter((name) => !['cli.ts', 'cli', 'kernel'].includes(roomOf(name)))).toEqual([])
  const nouns = sources.find(({ file }) => file === 'cli/program.ts')?.imports ?? []
  expect(nouns.length).toBeGreaterThan(15)
  const loaded = new Set(nouns.flatMap(packagesOf))
  expect(loaded).toContain('ioredis')
  const ofServers =
    /^(@aws-sdk|@bull-board|express$|busboy|file-type|pino|prom-client|rate-limiter-flexible|@opentelemetry)/
  expect([...loaded].filter((name) => ofServers.test(name))).toEqual([])
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

test('of the producer, only the webhook and what connects it know a provider', () => {
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

test('the client imports only types and the connection to Redis from the service', () => {
  const taken = readdirSync(CLIENT).flatMap((file) => {
    const { imports, text } = readSource(join(CLIENT, file), CLIENT)
    const ofService = imports.filter((name) => name.startsWith('..'))
    // Its build writes types out in full, and puts what is used at run time into the package.
    if (file === 'types.ts' || file === 'operation-types.ts') return text.match(/^import (?!type)/gm) ?? []
    return ofService.map((name) => name.replace('../../../src/', ''))
  })
  expect([...new Set(taken)].sort()).toEqual(['kernel/redis-address.ts', 'redis/connect.ts', 'redis/errors.ts'])
})

test('the client depends only on what the intake queue needs', () => {
  const packages = readdirSync(CLIENT).flatMap((file) => readSource(join(CLIENT, file), CLIENT).packages)
  expect([...new Set(packages)].filter((name) => !/^(?:node:|zod$)/.test(name)).sort()).toEqual(['bullmq', 'ioredis'])
})

test('a *.processor.ts is background work that the worker starts', () => {
  const processors = sources.map(({ file }) => file).filter((file) => file.endsWith('.processor.ts'))
  expect(processors).toContain('events/relay.processor.ts')
  const started = sources.find(({ file }) => file === 'worker/main.ts')?.imports ?? []
  expect(processors.filter((file) => !started.includes(file))).toEqual([])
})

test('only src/lanes/bullmq imports BullMQ', () => {
  const knowing = sources.filter(({ packages }) => packages.includes('bullmq')).map(({ file }) => file)
  expect(knowing.filter((file) => !file.startsWith('lanes/bullmq/'))).toEqual([])
})

/** Who reads the records of messages that are on their way, beside `lanes`. All others ask the archive. */
const READS_RECORDS = [
  /^worker\//,
  /^reports\//,
  /^messages\/accept\//,
  /^recipients\/recipient-states\.ts$/,
  /^erase\/erase-messages\.ts$/,
]

test('only src/lanes knows how messages are stored: others use the archive', () => {
  const others = sources.filter(({ file }) => roomOf(file) !== 'lanes')
  const asking = (name: string) => others.filter(({ imports }) => imports.includes(name)).map(({ file }) => file)
  expect(asking('lanes/archive/archive.ts').length).toBeGreaterThan(10)
  const inside = sources.map(({ file }) => file).filter((file) => file.startsWith('lanes/archive/'))
  expect(inside).toContain('lanes/archive/index-segments.ts')
  for (const file of inside.filter((file) => file !== 'lanes/archive/archive.ts'))
    expect(asking(file), file).toEqual([])
  expect(asking('lanes/messages/record-format.ts')).toEqual([])
  const reading = asking('lanes/messages/records.ts')
  expect(reading.filter((file) => !READS_RECORDS.some((each) => each.test(file)))).toEqual([])
  // Accepting waits until the replicas have the record, by its key.
  const keys = others.filter(
    ({ file, text }) => file !== 'redis/keys.ts' && /\b(messageKey|inboundKey(Of)?|indexSegmentKeys)\(/.test(text),
  )
  expect(keys.map(({ file }) => file).filter((file) => !file.startsWith('messages/accept/'))).toEqual([])
})

test('only scripts of src/lanes know the fields of a record', () => {
  const knowing = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .filter((file) => /\bFIELD\./.test(readFileSync(join(SRC, file), 'utf8')))
  expect(knowing).toContain('lanes/archive/scripts/message-erase.lua')
  expect(knowing.filter((file) => roomOf(file) !== 'lanes')).toEqual([])
})

test('only scripts of src/lanes move jobs between lists of BullMQ, or know its scores', () => {
  const moves = [
    /'(?:LPUSH|RPUSH|LPOP|RPOP|LREM|LINSERT|LMOVE|LTRIM|ZADD|ZREM)', (?:waiting|prioritized|delayed|active|failed|marker|places)/,
    /[*/] 4096\b|0x100000000|'(?:priority|delay|opts)'/,
  ]
  const moving = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .filter((file) => moves.some((move) => move.test(readFileSync(join(SRC, file), 'utf8'))))
  expect(moving).toContain('lanes/bullmq/scripts/message-jobs.lua')
  expect(moving.filter((file) => !file.startsWith('lanes/'))).toEqual([])
})

test('nothing but the simulator knows its reserved numbers', () => {
  // The command line shows some as examples in its help.
  const others = filesWith(/555[ -]?010/).filter((file) => roomOf(file) !== 'cli')
  expect(others).toEqual([])
})

test('the code of messages, jobs and campaigns is pure: no clock, no chance, no network', () => {
  const pure = sources.filter(({ file }) => ['model', 'jobs'].includes(roomOf(file)))
  const packages = new Set(pure.flatMap((source) => source.packages))
  // node:crypto for digests and for the random part of ids.
  expect([...packages].filter((name) => !/^(zod|libphonenumber-js(\/\w+)?|node:crypto)$/.test(name))).toEqual([])
  const clocks = /\bDate\.now\(|\bnew Date\(\)|performance\.now\(|Math\.random\(|\bfetch\(|setTimeout\(/
  expect(pure.filter(({ text }) => clocks.test(text)).map(({ file }) => file)).toEqual([])
})

test.each<[string, RegExp, readonly string[]]>([
  // The last one reads no setting: it tells the S3 library something, which listens to nothing else.
  // What takes a variable of libraries away reads none.
  ['the environment', /(?<!delete )\bprocess\.env\b/, ['kernel/config.ts']],
  ['Redis keys', /['"`]lw:/, ['redis/keys.ts']],
  [
    'how to connect to Redis',
    /from 'ioredis'/,
    // The last one asks a Redis that it has just started whether it is there at all.
    [
      ...['redis/connect.ts', 'redis/connections.ts', 'redis/joined-writes.ts', 'redis/replication.ts'],
      ...['redis/safety.ts', 'redis/sentinels.ts', 'start/embedded-redis.ts'],
    ],
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
