// The ledger: one line of JSON per accepted request, appended before the answer leaves and never merged or changed.
// It is the only truth about what was sent: a run that kills every other process compares its own log with this.

import { closeSync, createReadStream, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { Readable } from 'node:stream'
import { StartError } from './config.ts'
import type { ProductPolicy } from './submission.ts'

/** One accepted request, as a line of `GET /_ledger`. */
export interface LedgerEntry {
  /** Epoch ms of acceptance. */
  at_ms: number
  wire: 'partner' | 'cloud'
  /** WhatsApp's message id. */
  id: string
  /** `biz_opaque_callback_data` on the cloud wire, the `Idempotency-Key` header on the partner wire, else null. */
  opaque: string | null
  /** Recipient, digits. */
  to: string
  /** Phone number id on the cloud wire; `sender` of a template on the partner wire, else null. */
  sender: string | null
  /** Of a message that came to the address for marketing: what is to become of it if it may not go that way. */
  product_policy?: ProductPolicy
  /** Ids of uploads that it names, where it does. */
  media?: readonly string[]
}

/** Where accepted requests are recorded, in the order of acceptance. */
export interface Ledger {
  /** Returns once a reader would see the line. */
  append(entry: LedgerEntry): void
  /** Lines so far. */
  count(): number
  /** All lines that are there at the moment of the call, as NDJSON. */
  read(): Readable
  empty(): void
  close(): void
}

/**
 * The ledger in a file when one is named, else in memory.
 * @throws StartError when the file cannot be opened for appending
 */
export function openLedger(file: string | null): Ledger {
  return file === null ? memoryLedger() : fileLedger(file)
}

/** Lines that are joined into one buffer: a million lines as strings would weigh twice as much. */
const LINES_PER_CHUNK = 1000

function memoryLedger(): Ledger {
  let chunks: Buffer[] = []
  let lines: string[] = []
  let count = 0
  return {
    append(entry) {
      lines.push(lineOf(entry))
      count += 1
      if (lines.length === LINES_PER_CHUNK) {
        chunks.push(Buffer.from(lines.join('')))
        lines = []
      }
    },
    count: () => count,
    read: () => Readable.from([...chunks, Buffer.from(lines.join(''))].filter((chunk) => chunk.length > 0)),
    empty() {
      chunks = []
      lines = []
      count = 0
    },
    close() {},
  }
}

/** Written with a system call per line, so that a killed simulator has lost none that was answered. */
function fileLedger(file: string): Ledger {
  const fd = openForAppending(file)
  let count = countLines(fd)
  return {
    append(entry) {
      writeSync(fd, lineOf(entry))
      count += 1
    },
    count: () => count,
    read() {
      const { size } = fstatSync(fd)
      return size === 0 ? Readable.from([]) : createReadStream(file, { fd, autoClose: false, start: 0, end: size - 1 })
    },
    empty() {
      ftruncateSync(fd)
      count = 0
    },
    close: () => closeSync(fd),
  }
}

function lineOf(entry: LedgerEntry): string {
  return `${JSON.stringify(entry)}\n`
}

function openForAppending(file: string): number {
  try {
    return openSync(file, 'a+', 0o600)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`SIMULATOR_LEDGER_FILE cannot be opened for appending: ${reason}.`)
  }
}

/** Counts what an earlier run left in the file. */
function countLines(fd: number): number {
  const buffer = Buffer.alloc(1 << 16)
  const newline = '\n'.charCodeAt(0)
  let count = 0
  let position = 0
  for (;;) {
    const read = readSync(fd, buffer, 0, buffer.length, position)
    if (read === 0) return count
    for (const byte of buffer.subarray(0, read)) if (byte === newline) count += 1
    position += read
  }
}
