// Writes down which files of src are entered for one piece of work, in their order, and from which file each is. A piece of
// work is a request, or begins where a worker begins something: all that follows from it belongs to it, also what follows
// later, by promises and timers.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const DIST = new URL('../../dist/', import.meta.url)
/** Frames of a stack: between two files of ours are those of Express, zod and Node. */
const FRAMES = 100

const storage = new AsyncLocalStorage()
const works = []

/**
 * From now on, modules of dist/ that are imported are traced. `beginnings`: `file function` of those that begin a piece of
 * work; a request is one by its path.
 */
export function traceDist(beginnings) {
  register(new URL('hook.mjs', import.meta.url), { data: beginnings })
  Error.stackTraceLimit = FRAMES
  globalThis.entered = entered
  globalThis.began = began
  const { Server } = createRequire(import.meta.url)('node:http')
  const { emit } = Server.prototype
  Server.prototype.emit = function (event, ...rest) {
    if (event !== 'request') return emit.call(this, event, ...rest)
    return began(`${rest[0].method} ${rest[0].url}`, () => emit.call(this, event, ...rest))
  }
  traceScripts()
}

/** Does the work as a piece of its own. */
function began(name, work) {
  const piece = { name, files: new Map(), calls: new Map() }
  works.push(piece)
  return storage.run(piece, work)
}

/** A function of the file begins. */
function entered(file) {
  const piece = storage.getStore()
  if (piece !== undefined) note(piece, file, callerOf(file))
}

function note({ files, calls }, file, caller) {
  if (!files.has(file)) files.set(file, files.size)
  if (caller !== undefined && caller !== file) calls.set(`${caller} ${file}`, [caller, file])
}

/** The file of the function that called, through whatever libraries; undefined where Node called, as after a wait. */
function callerOf() {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = (_error, frames) => frames
  const holder = {}
  Error.captureStackTrace(holder, entered)
  const frames = holder.stack
  Error.prepareStackTrace = prepareStackTrace
  for (const frame of frames.slice(1)) {
    if (frame.isAsync()) return undefined
    const url = frame.getFileName() ?? ''
    if (url.startsWith(DIST.href)) return url.slice(DIST.href.length).replace(/\.js$/, '.ts')
  }
  return undefined
}

/** Lua scripts are entered where they are sent; of one that Redis does not know yet the text is sent. */
function traceScripts() {
  const { Redis } = createRequire(import.meta.url)('ioredis')
  const names = new Map()
  const heads = scriptsByHead()
  const send = Redis.prototype.sendCommand
  Redis.prototype.sendCommand = function (command, ...rest) {
    const [first = ''] = command.args
    if (command.name === 'eval') names.set(createHash('sha1').update(String(first)).digest('hex'), nameIn(heads, first))
    const name = command.name === 'evalsha' ? names.get(String(first)) : undefined
    const piece = storage.getStore()
    if (name !== undefined && piece !== undefined) note(piece, name, 'redis/lua.ts')
    return send.call(this, command, ...rest)
  }
}

/** First line of a script → its path. */
function scriptsByHead() {
  const dist = fileURLToPath(DIST)
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.lua'))
  return files.map((file) => {
    const [head = ''] = readFileSync(join(dist, file), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('-- '))
    return { head, file: relative(dist, join(dist, file)) }
  })
}

/** The script whose head comes first: those that it includes stand further down. */
function nameIn(heads, text) {
  const found = heads.map(({ head, file }) => ({ file, at: text.indexOf(head) })).filter(({ at }) => at !== -1)
  return found.sort((a, b) => a.at - b.at)[0]?.file
}

/** All pieces of work since the last time, each with its files in order and the calls between them. */
export function takeWorks() {
  return works
    .splice(0)
    .map(({ name, files, calls }) => ({ name, files: [...files.keys()], calls: [...calls.values()] }))
}
