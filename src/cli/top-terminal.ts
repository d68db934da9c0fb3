// The terminal while `top` has it: another screen, so that what was there is there again afterwards, whatever happens.
import type { Readable, Writable } from 'node:stream'

/** What somebody pressed, as far as it means anything. */
export type Pressed = 'up' | 'down' | 'pause' | 'resume' | 'quit'

const KEYS: Readonly<Record<string, Pressed>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  k: 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  j: 'down',
  p: 'pause',
  r: 'resume',
  q: 'quit',
  '\u0003': 'quit',
  '\u0004': 'quit',
}
/** An escape sequence of a key, or one character. */
const KEY = /\p{Cc}[[O][A-Z]|./gsu

/** Another screen, no cursor, and no line that goes on in the next one. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

interface Sized {
  columns: number
  rows: number
}

/** A stream of somebody who looks and types. */
export const isTerminal = (stream: Readable | Writable): boolean => 'isTTY' in stream && stream.isTTY === true

/** What was pressed, in its order; anything else means nothing. */
export const pressedIn = (typed: string): Pressed[] =>
  (typed.match(KEY) ?? []).flatMap((key) => (Object.hasOwn(KEYS, key) ? (KEYS[key] ?? []) : []))

/** Takes the terminal; `leave` gives it back, once or more often. */
export function takeTerminal(stdin: Readable, screen: Writable, onPressed: (pressed: Pressed) => void) {
  const hear = (typed: Buffer | string): void => pressedIn(String(typed)).forEach(onPressed)
  setRaw(stdin, true)
  stdin.on('data', hear)
  screen.write(ENTER)
  let isLeft = false
  const leave = (): void => {
    if (isLeft) return
    isLeft = true
    process.off('exit', leave)
    stdin.off('data', hear)
    stdin.pause()
    setRaw(stdin, false)
    screen.write(LEAVE)
  }
  // Whatever ends the process, the terminal must be of use afterwards.
  process.once('exit', leave)

  return {
    size: (): Sized => ({ columns: sizeOf(screen, 'columns', 100), rows: sizeOf(screen, 'rows', 30) }),
    draw: (lines: readonly string[]): void => {
      screen.write(HOME + lines.map((line) => line + CLEAR_LINE).join('\r\n') + CLEAR_BELOW)
    },
    leave,
  }
}

function setRaw(stdin: Readable, isRaw: boolean): void {
  if ('setRawMode' in stdin && typeof stdin.setRawMode === 'function') stdin.setRawMode(isRaw)
}

function sizeOf(screen: Writable, name: keyof Sized, otherwise: number): number {
  const size: unknown = Reflect.get(screen, name)
  return typeof size === 'number' && size > 0 ? size : otherwise
}
