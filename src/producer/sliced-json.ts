// JSON.parse for bodies of up to 4 MB that gives the event loop a turn in between: in one go, 200,000 values with names
// that all differ keep everybody else waiting for 300 ms.
//
// One walk over the bytes finds the brackets and commas. Whatever is small is left to JSON.parse as text, a run of
// neighbours at a time; a list or an object that is too large for one run is put together from its runs. What is JSON
// and what is not is thereby decided by JSON.parse alone; the walk adds only what lies between two runs.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** How much is parsed at once: below 5 ms whatever it is. */
const RUN_VALUES = 1_000
const RUN_BYTES = 16 * 1_024
/** How long one turn may take. */
const TURN_MS = 5

/** A list or an object that has been opened and not closed. */
interface Open {
  isList: boolean
  start: number
  /** Where the text begins that has not been parsed. */
  runStart: number
  /** Where the element begins that is being walked over. */
  elementStart: number
  /** Values since `runStart`. */
  values: number
  /** What has been put together so far; undefined while all of it is one piece of text. */
  built: unknown[] | Record<string, unknown> | undefined
  /** Under which name a child that is being put together will stand. */
  name: string
  /** A child that was put together has just ended: only a comma or the end may follow. */
  afterChild: boolean
}

/** What JSON.parse makes of these bytes in UTF-8, or its SyntaxError. The nesting must have been bounded before. */
export async function parseSliced(bytes: Buffer): Promise<unknown> {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  const walk = createWalk(bytes, start)
  let turnBegan = performance.now()
  for (let at = start; at < bytes.length; at += RUN_BYTES) {
    walk.upTo(Math.min(at + RUN_BYTES, bytes.length))
    if (performance.now() - turnBegan > TURN_MS) {
      await nextTurn()
      turnBegan = performance.now()
    }
  }
  return walk.end()
}

function createWalk(bytes: Buffer, start: number) {
  const opened: Open[] = []
  let at = start
  let inString = false
  let root: { value: unknown; end: number } | undefined
  let rootStart = -1

  const text = (from: number, to: number): string => bytes.toString('utf8', from, to)

  /** Parses the run of whole elements between the two and adds them. An empty one follows a comma, so it is an error. */
  function addRun(open: Open, from: number, to: number): void {
    const run = text(from, to)
    if (isBlank(run)) throw new SyntaxError('an element is missing')
    open.values = 0
    if (open.isList) {
      const elements: unknown = JSON.parse(`[${run}]`)
      if (Array.isArray(elements)) for (const element of elements) put(open.built, '', element)
    } else {
      const members: object = JSON.parse(`{${run}}`)
      for (const [name, value] of Object.entries(members)) put(open.built, name, value)
    }
  }

  /** From here on this one is put together from runs, and so is all that it stands in. */
  function buildFrom(place: number): Open['built'] {
    const open = opened[place]
    if (open === undefined || open.built !== undefined) return open?.built
    open.built = open.isList ? [] : {}
    const around = opened[place - 1]
    if (around === undefined) return open.built
    buildFrom(place - 1)
    if (around.runStart < around.elementStart) addRun(around, around.runStart, around.elementStart - 1)
    const before = text(around.elementStart, open.start)
    if (around.isList && !isBlank(before)) throw new SyntaxError('a comma is missing')
    if (!around.isList) around.name = nameIn(before)
    return open.built
  }

  function close(byte: number): void {
    const open = opened.at(-1)
    if (open === undefined || open.isList !== (byte === 0x5d)) throw new SyntaxError('brackets do not match')
    const around = opened.at(-2)
    if (open.built !== undefined) {
      endRun(open)
      opened.pop()
      if (around === undefined) root = { value: open.built, end: at + 1 }
      else {
        put(around.built, around.name, open.built)
        Object.assign(around, { afterChild: true, runStart: at + 1, values: 0 })
      }
      return
    }
    opened.pop()
    if (around === undefined) root = { value: JSON.parse(text(open.start, at + 1)), end: at + 1 }
    else around.values += open.values
  }

  /** At a comma or the end of one that is put together. */
  function endRun(open: Open): void {
    if (!open.afterChild) addRun(open, open.runStart, at)
    else if (!isBlank(text(open.runStart, at))) throw new SyntaxError('a comma is missing')
    open.afterChild = false
  }

  function comma(): void {
    const open = opened.at(-1)
    if (open === undefined) throw new SyntaxError('a comma outside of everything')
    open.values += 1
    if (open.afterChild || open.values >= RUN_VALUES || at - open.runStart >= RUN_BYTES) {
      buildFrom(opened.length - 1)
      endRun(open)
      open.runStart = at + 1
    }
    open.elementStart = at + 1
  }

  function begin(byte: number): void {
    const around = opened.at(-1)
    if (root !== undefined || around?.afterChild) throw new SyntaxError('a comma is missing')
    if (around === undefined) rootStart = at
    else around.values += 1
    opened.push({
      isList: byte === 0x5b,
      start: at,
      runStart: at + 1,
      elementStart: at + 1,
      values: 0,
      built: undefined,
      name: '',
      afterChild: false,
    })
  }

  return {
    upTo(end: number): void {
      for (; at < end; at += 1) {
        const byte = bytes[at]
        if (inString) {
          if (byte === 0x5c) at += 1
          else if (byte === 0x22) inString = false
        } else if (byte === 0x22) inString = true
        else if (byte === 0x2c && opened.length > 0) comma()
        else if (byte === 0x7b || byte === 0x5b) begin(byte)
        else if (byte === 0x7d || byte === 0x5d) close(byte)
      }
    },
    end(): unknown {
      // Neither list nor object, or nothing at all.
      if (rootStart < 0) return JSON.parse(text(start, bytes.length))
      const isAlone = root !== undefined && isBlank(text(start, rootStart)) && isBlank(text(root.end, bytes.length))
      if (root === undefined || !isAlone) throw new SyntaxError('it is not one whole value')
      return root.value
    },
  }
}

/** The name in `"name":`, as JSON.parse reads it. */
function nameIn(text: string): string {
  const member: object = JSON.parse(`{${text}{}}`)
  const [name, another] = Object.keys(member)
  if (name === undefined || another !== undefined) throw new SyntaxError('a name is missing')
  return name
}

/** Adds to a list, or sets a member as JSON.parse does: `__proto__` is a name like any other. */
function put(target: Open['built'], name: string, value: unknown): void {
  if (Array.isArray(target)) target.push(value)
  else if (target !== undefined && name !== '__proto__') target[name] = value
  else if (target !== undefined) {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
  }
}

/** White space as JSON has it. */
const isBlank = (text: string): boolean => /^[ \t\n\r]*$/.test(text)
