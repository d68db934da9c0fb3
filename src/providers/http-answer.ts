// Reads the answers that come on a connection, as HTTP/1.1 has them (RFC 9112), and nothing that is not quite that: an
// answer that can be understood in two ways proves nothing, so it ends as one that never came. Knows no socket.

/** Longest head and longest body that are read; a provider's are under 1 KB each. */
const MAX_HEAD_BYTES = 16 * 1024
const MAX_BODY_BYTES = 256 * 1024
/** A line that says how long a chunk is, with what may stand behind that, and a line of a trailer. */
const MAX_CHUNK_LINE_BYTES = 4 * 1024

/** A whole answer. */
export interface Answer {
  status: number
  body: string
  /** These headers as they came. */
  retryAfter: string | undefined
  date: string | undefined
  /** Nothing else comes on its connection. */
  isLast: boolean
  /** How long the server keeps the connection, if it says so. */
  keptMs: number | undefined
}

/** What came is no answer, or more than anybody reads. */
export class AnswerError extends Error {
  readonly code: 'bad_answer' | 'answer_too_large'
  constructor(code: AnswerError['code']) {
    super(code)
    this.code = code
  }
}

type Head = Omit<Answer, 'body'> & {
  /** How the body ends: after so many bytes, with its last chunk, or with the connection. */
  ends: number | 'chunked' | 'closed'
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)

/** Of one connection: answers come one after the other. */
export function createAnswerReader() {
  /** What has come and is not read yet. */
  let waiting: Buffer = NOTHING
  let head: Head | undefined
  let body: Buffer[] = []
  let received = 0
  /** Bytes that are still to come of a chunk, 0 before one; undefined in the trailer. */
  let chunk: number | undefined = 0

  function finish({ status, retryAfter, date, isLast, keptMs, ends }: Head): Answer {
    const [only = NOTHING] = body
    const text = (body.length > 1 ? Buffer.concat(body) : only).toString('utf8')
    const hasMore = waiting.length > 0
    head = undefined
    body = []
    received = 0
    chunk = 0
    // Whoever sends more than was asked for is not asked again.
    return { status, body: text, retryAfter, date, isLast: isLast || ends === 'closed' || hasMore, keptMs }
  }

  /** Takes up to `most` bytes of the body; those of a chunk that are still to come are `most` less what is returned. */
  function takeBody(most: number): number {
    const piece = waiting.length > most ? waiting.subarray(0, most) : waiting
    waiting = waiting.length > most ? waiting.subarray(most) : NOTHING
    received += piece.length
    if (received > MAX_BODY_BYTES) throw new AnswerError('answer_too_large')
    if (piece.length > 0) body.push(piece)
    return piece.length
  }

  function takeLine(): string | undefined {
    const at = waiting.indexOf(LINE_END)
    if (at > MAX_CHUNK_LINE_BYTES || (at === -1 && waiting.length > MAX_CHUNK_LINE_BYTES)) throw bad()
    if (at === -1) return undefined
    const line = waiting.toString('latin1', 0, at)
    waiting = waiting.subarray(at + LINE_END.length)
    return line
  }

  /** Reads chunks as far as they have come; true once the last one is read, with what follows it. */
  function takeChunks(): boolean {
    for (;;) {
      if (chunk === undefined) {
        // The trailer, of which nothing is used, ends with an empty line.
        const line = takeLine()
        if (line === undefined || line === '') return line === ''
        received += line.length
        if (received > MAX_BODY_BYTES) throw new AnswerError('answer_too_large')
      } else if (chunk > 0) {
        chunk -= takeBody(chunk)
        if (chunk > 0) return false
        chunk = -1
      } else if (chunk < 0) {
        // Behind the bytes of a chunk.
        const line = takeLine()
        if (line === undefined) return false
        if (line !== '') throw bad()
        chunk = 0
      } else {
        const line = takeLine()
        if (line === undefined) return false
        const [, digits] = CHUNK_LINE.exec(line) ?? []
        if (digits === undefined) throw bad()
        chunk = Number.parseInt(digits, 16) || undefined
      }
    }
  }

  return {
    /** The answer once it is whole, undefined until then. Throws an AnswerError; nothing can be read after that. */
    read(piece: Buffer): Answer | undefined {
      waiting = waiting.length === 0 ? piece : Buffer.concat([waiting, piece])
      while (head === undefined) {
        const at = waiting.indexOf(HEAD_END)
        if (at > MAX_HEAD_BYTES || (at === -1 && waiting.length > MAX_HEAD_BYTES)) throw bad()
        if (at === -1) return undefined
        const found = headOf(waiting.toString('latin1', 0, at))
        waiting = at + HEAD_END.length === waiting.length ? NOTHING : waiting.subarray(at + HEAD_END.length)
        // The answer that counts comes after it.
        if (found.status >= 200) head = found
      }
      if (head.ends === 'chunked') return takeChunks() ? finish(head) : undefined
      if (head.ends === 'closed') {
        takeBody(Number.POSITIVE_INFINITY)
        return undefined
      }
      if (head.ends > MAX_BODY_BYTES) throw new AnswerError('answer_too_large')
      takeBody(head.ends - received)
      return received === head.ends ? finish(head) : undefined
    },

    /** The connection has ended: the answer whose end that is, undefined when there is none. */
    end: (): Answer | undefined => (head?.ends === 'closed' ? finish(head) : undefined),
  }
}

const bad = (): AnswerError => new AnswerError('bad_answer')

const CHUNK_LINE = /^([0-9a-f]{1,8})[\t ]*(?:;.*)?$/i
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not stand there
const FORBIDDEN = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** The head of an answer from its text up to the empty line. Throws an AnswerError for anything that is not one. */
function headOf(text: string): Head {
  const lines = text.split('\r\n')
  const [, minor, code] = STATUS_LINE.exec(lines[0] ?? '') ?? []
  const status = Number(code)
  if (code === undefined || status === 101) throw bad()
  const found: Head = {
    status,
    retryAfter: undefined,
    date: undefined,
    isLast: minor === '0',
    keptMs: undefined,
    ends: 'closed',
  }
  let length: number | undefined
  let isChunked = false
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i] ?? ''
    if (FORBIDDEN.test(line)) throw bad()
    if (i === 0) continue
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!NAME.test(name)) throw bad()
    const value = line.slice(colon + 1).trim()
    switch (name) {
      case 'content-length':
        if (length !== undefined || !/^\d{1,15}$/.test(value)) throw bad()
        length = Number(value)
        break
      case 'transfer-encoding':
        if (isChunked || value.toLowerCase() !== 'chunked' || minor === '0') throw bad()
        isChunked = true
        break
      case 'connection':
        if (/(?:^|[\s,])close(?:$|[\s,])/i.test(value)) found.isLast = true
        break
      case 'keep-alive': {
        const seconds = /timeout=(\d{1,9})/i.exec(value)?.[1]
        if (seconds !== undefined) found.keptMs = Number(seconds) * 1_000
        break
      }
      case 'retry-after':
        found.retryAfter ??= value
        break
      case 'date':
        found.date ??= value
    }
  }
  if (isChunked && length !== undefined) throw bad()
  // These never have a body, whatever they say.
  const isEmpty = status < 200 || status === 204 || status === 304
  found.ends = isEmpty ? 0 : isChunked ? 'chunked' : (length ?? 'closed')
  return found
}
