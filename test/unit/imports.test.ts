// Pins: the rooms of src/ know each other in one direction only, the simulator stands alone, and what only one file
// may know stands in that file.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')
const SIMULATOR = resolve(import.meta.dirname, '../../simulator')
const CLIENT = resolve(import.meta.dirname, '../../packages/client/src')

/**
 * Each room and the rooms it may import besides itself. A room is a folder of src/, and a folder below it where the two
 * differ in what they may know: what lies directly in a feature's folder is pure or joins its parts, store/ is what it
 * keeps in Redis. A new room is declared here.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'redis-address': [],
  'redis-socket': ['redis-address'],
  'config-limits': [],
  'config-contradictions': [],
  config: [
    'accounts',
    'config-contradictions',
    'config-limits',
    'events',
    'files',
    'production',
    'redis-address',
    'redis-socket',
  ],
  production: ['redis-socket'],
  version: [],
  'log-output': [],
  'log-pretty': [],
  'log-stack': [],
  log: ['config', 'log-output', 'log-pretty', 'log-stack', 'tracing'],
  repeatedly: ['log'],
  deadline: [],
  redis: ['log', 'deadline', 'redis-address', 'redis-socket'],
  // BullMQ: its library, its errors, and where and how it keeps jobs.
  queue: ['redis', 'log'],
  files: [],
  activity: ['redis'],
  'opt-outs': [],
  'opt-outs/store': ['redis', 'accounts', 'opt-outs'],
  'opt-outs/commands': [
    ...[
      'redis',
      'files',
      'messages',
      'messages/store',
      'accounts/store',
      'accept',
      'people',
      'opt-outs',
      'opt-outs/store',
    ],
  ],

  messages: [],
  tracing: ['messages'],
  observe: ['redis', 'messages'],
  campaigns: ['messages'],
  gallery: [],
  jobs: ['messages', 'campaigns'],

  events: ['messages', 'campaigns', 'jobs'],
  'messages/store': ['redis', 'queue', 'observe', 'messages', 'jobs'],
  accounts: [],
  'accounts/store': ['redis', 'messages', 'accounts'],
  limits: ['redis', 'accounts', 'accounts/store', 'observe'],
  'contacts/store': ['redis', 'files'],
  'gallery/store': ['redis', 'queue', 'files', 'gallery', 'jobs'],
  'queue/lane': ['redis', 'queue', 'observe', 'messages', 'messages/store', 'jobs'],
  lanes: [
    ...['redis', 'queue', 'queue/lane', 'observe', 'messages', 'messages/store', 'jobs', 'accounts'],
    ...['accounts/store'],
  ],
  accept: [
    ...['redis', 'queue/lane', 'observe', 'tracing', 'messages', 'messages/store', 'jobs', 'accounts'],
    ...['accounts/store', 'config'],
  ],
  'accounts/commands': [
    ...['redis', 'queue/lane', 'messages', 'accounts', 'accounts/store', 'lanes', 'accept', 'campaigns'],
    ...['campaigns/store', 'production', 'events/store', 'opt-outs/store', 'contacts/store', 'gallery/store'],
  ],
  'contacts/commands': ['redis', 'files', 'contacts/store', 'messages', 'accept', 'campaigns'],
  'campaigns/store': ['redis', 'queue', 'observe', 'files', 'messages', 'messages/store', 'jobs', 'campaigns'],
  'events/store': [
    ...['redis', 'queue', 'messages', 'messages/store', 'jobs', 'accounts', 'accounts/store', 'campaigns'],
    ...['campaigns/store', 'events'],
  ],
  'events/commands': [
    ...['redis', 'queue', 'messages', 'jobs', 'accounts', 'accounts/store', 'accept', 'requeue', 'events'],
    ...['events/store'],
  ],
  'campaigns/commands': [
    ...['redis', 'queue/lane', 'files', 'messages', 'messages/store', 'accounts', 'accounts/store', 'lanes'],
    ...['accept', 'campaigns', 'campaigns/store'],
  ],
  'campaigns/fan-out': [
    ...['redis', 'queue/lane', 'files', 'observe', 'tracing', 'messages', 'messages/store', 'jobs', 'accounts/store'],
    ...['accept', 'config', 'log', 'repeatedly', 'campaigns', 'campaigns/store', 'campaigns/commands'],
  ],
  'campaigns/preflight': [
    ...['redis', 'files', 'messages', 'messages/store', 'accounts/store', 'contacts/store', 'config', 'log'],
    ...['opt-outs/store'],
    ...['campaigns', 'campaigns/store', 'campaigns/commands', 'campaigns/fan-out'],
  ],
  lookup: [
    ...['redis', 'queue', 'queue/lane', 'messages', 'messages/store', 'jobs', 'accounts/store', 'lanes', 'campaigns'],
    ...['campaigns/store'],
  ],
  requeue: [
    ...['redis', 'queue', 'queue/lane', 'messages', 'messages/store', 'jobs', 'accounts/store', 'lanes', 'accept'],
    ...['campaigns', 'campaigns/store'],
  ],
  people: [
    ...['redis', 'queue', 'queue/lane', 'files', 'messages', 'messages/store', 'jobs', 'accounts/store'],
    ...['contacts/store', 'lanes', 'log', 'campaigns', 'campaigns/store', 'lookup', 'opt-outs/store'],
  ],
  // The address of a file is as foreign as that of an endpoint.
  providers: ['messages', 'events', 'deadline'],
  telemetry: ['redis', 'queue', 'messages', 'campaigns', 'jobs', 'observe', 'log', 'repeatedly'],
  'telemetry/live': ['redis', 'queue', 'messages', 'campaigns', 'campaigns/store', 'telemetry'],

  producer: [
    ...['redis', 'queue', 'queue/lane', 'files', 'messages', 'messages/store', 'jobs', 'accounts', 'accounts/store'],
    ...['contacts/store', 'accounts/commands', 'contacts/commands', 'gallery', 'gallery/store', 'lanes', 'accept'],
    ...['campaigns', 'campaigns/store', 'campaigns/commands', 'events', 'events/store', 'events/commands'],
    ...['opt-outs', 'opt-outs/store', 'opt-outs/commands', 'lookup', 'requeue', 'people', 'providers', 'telemetry'],
    ...['telemetry/live', 'activity', 'config', 'log', 'limits', 'observe'],
  ],
  worker: [
    ...['redis', 'queue', 'queue/lane', 'files', 'observe', 'tracing', 'messages', 'messages/store', 'jobs'],
    ...['accounts', 'accounts/commands', 'accounts/store', 'gallery/store', 'lanes', 'accept', 'campaigns'],
    ...['campaigns/store', 'campaigns/commands', 'campaigns/fan-out', 'campaigns/preflight', 'events'],
    ...['events/store', 'opt-outs/store', 'opt-outs/commands', 'lookup', 'requeue', 'people', 'providers'],
    ...['telemetry', 'config', 'log', 'repeatedly', 'deadline', 'version'],
  ],
  cli: [
    ...['redis', 'queue/lane', 'files', 'messages', 'messages/store', 'accounts', 'accounts/store', 'contacts/store'],
    ...['lanes', 'accept', 'campaigns', 'campaigns/store', 'campaigns/commands', 'lookup', 'requeue', 'people'],
    ...['telemetry', 'activity', 'accounts/commands', 'contacts/commands', 'events', 'events/store'],
    ...['events/commands', 'opt-outs/store', 'opt-outs/commands', 'config', 'log', 'telemetry/live', 'version'],
    ...['redis-socket'],
  ],
  // A browser's page: of the rest it knows types, and pure tables.
  console: [
    'messages',
    'jobs',
    'lookup',
    'campaigns',
    'campaigns/commands',
    'telemetry',
    'producer',
    'activity',
    'accounts',
    'events',
    'lanes',
    'opt-outs',
    'files',
  ],
  start: [
    ...['redis', 'queue/lane', 'files', 'messages', 'accounts', 'accounts/store', 'contacts/store', 'gallery/store'],
    ...['messages/store', 'producer', 'worker', 'telemetry', 'config', 'config-children', 'log'],
    ...['repeatedly', 'production', 'redis-socket'],
  ],
  main: ['start', 'redis', 'producer', 'worker', 'telemetry', 'config', 'log', 'log-stack'],
}

/** What of the producer may know a provider. */
const PROVIDERS_IN_PRODUCER = [
  'producer/handlers/cloud-webhook.ts',
  'producer/handlers/message-media.ts',
  'producer/main.ts',
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

/** The deepest declared room that a file is in. */
const roomOf = (file: string): string => {
  const parts = file.replace(/\.ts$/, '').split('/')
  const inTwo = parts.slice(0, 2).join('/')
  return ROOMS[inTwo] === undefined ? (parts[0] ?? '') : inTwo
}
const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file)

test('imports are seen at all', () => {
  const pipeline = sources.find(({ file }) => file === 'worker/chunk-worker.ts')
  expect(pipeline?.imports).toContain('queue/layout.ts')
  expect(sources.find(({ file }) => file === 'queue/worker.ts')?.packages).toContain('bullmq')
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(2 * sources.length)
})

test('every file is in a declared room, and every room imports only rooms that it may', () => {
  const wrong = sources.flatMap(({ file, imports }) => {
    const room = roomOf(file)
    const allowed = ROOMS[room]
    if (allowed === undefined) return [`${file}: the room ${room} is not declared`]
    return imports
      .filter((imported) => roomOf(imported) !== room && !allowed.includes(roomOf(imported)))
      .map((imported) => `${file} imports ${imported}`)
  })
  expect(wrong).toEqual([])
})

test('rooms do not know each other in a circle', () => {
  const above = (room: string, path: readonly string[] = []): string[][] => {
    if (path.includes(room)) return [[...path, room]]
    return (ROOMS[room] ?? []).flatMap((next) => above(next, [...path, room]))
  }
  expect(Object.keys(ROOMS).flatMap((room) => above(room))).toEqual([])
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

test('the simulator, the client and the service import nothing of each other', () => {
  const outside = [SIMULATOR, CLIENT].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => {
        const { imports } = readSource(join(root, file), root)
        return imports.filter((name) => name.startsWith('..')).map((name) => `${file} imports ${name}`)
      }),
  )
  expect(outside).toEqual([])
  expect(sources.flatMap(({ imports }) => imports.filter((name) => name.startsWith('..')))).toEqual([])
})

test('the client brings only what it needs for the intake queue', () => {
  const packages = readdirSync(CLIENT).flatMap((file) => readSource(join(CLIENT, file), CLIENT).packages)
  expect([...new Set(packages)].filter((name) => !name.startsWith('node:')).sort()).toEqual(['bullmq', 'ioredis'])
})

test('only src/queue imports BullMQ', () => {
  const knowing = sources.filter(({ packages }) => packages.includes('bullmq')).map(({ file }) => file)
  expect(knowing.filter((file) => roomOf(file) !== 'queue')).toEqual([])
})

test('only scripts of src/queue move jobs from one list of BullMQ to another, or know how it scores them', () => {
  const moves = [
    /'(?:LPUSH|RPUSH|LPOP|RPOP|LREM|LINSERT|LMOVE|LTRIM|ZADD|ZREM)', (?:waiting|prioritized|delayed|active|failed|marker|chunks)/,
    /[*/] 4096\b|0x100000000|'(?:priority|delay|opts)'/,
  ]
  const moving = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .filter((file) => moves.some((move) => move.test(readFileSync(join(SRC, file), 'utf8'))))
  expect(moving).toContain('queue/scripts/message-jobs.lua')
  expect(moving.filter((file) => !file.startsWith('queue/'))).toEqual([])
})

test('nothing but the simulator knows its reserved numbers', () => {
  // The command line shows some as examples in its help.
  const others = filesWith(/555[ -]?010/).filter((file) => roomOf(file) !== 'cli' && file !== 'start/demo-traffic.ts')
  expect(others).toEqual([])
})

test('what a message, a job and a campaign are, is pure: no clock, no chance, no network', () => {
  const pure = sources.filter(({ file }) => ['messages', 'jobs', 'campaigns'].includes(roomOf(file)))
  const packages = new Set(pure.flatMap((source) => source.packages))
  // node:crypto for digests and for the random part of ids; fastest-levenshtein compares two words.
  expect(
    [...packages].filter((name) => !/^(zod|fastest-levenshtein|libphonenumber-js(\/\w+)?|node:crypto)$/.test(name)),
  ).toEqual([])
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
    [
      'redis/cluster.ts',
      'redis/connect.ts',
      'redis/every-node.ts',
      'redis/gathered-writes.ts',
      'redis/replication.ts',
      'redis/sentinel-watch.ts',
      'start/embedded-redis.ts',
    ],
  ],
  [
    'where BullMQ keeps what',
    /:(wait|prioritized|delayed|active|stalled|failed|completed|limiter|marker|meta|pc)[`'"]/,
    ['queue/layout.ts'],
  ],
  [
    "the fields of BullMQ's jobs",
    /'(failedReason|finishedOn|returnvalue|stacktrace|atm|ats|stc)'/,
    ['queue/layout.ts', 'queue/repair.ts'],
  ],
  [
    "BullMQ's errors",
    /\b(DelayedError|RateLimitError|UnrecoverableError|Waiting(Children)?Error)\b/,
    ['queue/worker.ts'],
  ],
])('%s: only one place knows', (_what, pattern, files) => {
  expect(filesWith(pattern).sort()).toEqual(files)
})

test('processes log through pino; only what talks to a terminal prints', () => {
  const printing = filesWith(/\bconsole\.\w+\(|process\.std(out|err)\.write\(/)
  expect(printing.filter((file) => !/^(cli|start|main)\b/.test(file))).toEqual([])
})
