// A client on bare TCP that keeps none of the rules: it holds back the end of what it sends, does not read, hangs up.
import { connect, type Socket } from 'node:net'

/** Status of every answer that came, `none` for a connection that brought none. */
export type Answers = Record<string, number>

export interface RawRequest {
  head: string
  body?: Buffer
  /**
   * `together`: all hold back their last byte and send it at the same moment. `half`: half of it, then nothing.
   * `unread`: all of it, and the answer is never read. `whole`: as it comes.
   */
  how: 'whole' | 'together' | 'half' | 'unread'
}

/** How long answers are waited for, and how long those wait that mean to wait. */
const ANSWER_MS = 20_000
const WAIT_MS = 3_000

/** Opens a connection whose errors are of no interest. */
export function open(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => {})
}

/** Sends the request on `count` connections at once. Resolves when all are answered, cut, or have waited long enough. */
export async function sendAtOnce(url: string, request: RawRequest, count: number): Promise<Answers> {
  const answers: Answers = {}
  const sockets: Socket[] = []
  const { head, body = Buffer.alloc(0), how } = request
  const all = Buffer.from(head, 'latin1')
  const cut = how === 'together' ? body.length - 1 : how === 'half' ? Math.floor(body.length / 2) : body.length
  const headPart = how === 'half' && body.length === 0 ? all.subarray(0, all.length - 4) : all

  const sent: Promise<void>[] = []
  const over = Array.from({ length: count }, () => {
    const socket = open(url)
    sockets.push(socket)
    let said = ''
    if (how === 'unread') socket.pause()
    else {
      socket.setEncoding('latin1').on('data', (text: string) => {
        if (said.length < 16) said += text
        if (how !== 'half') socket.destroy()
      })
    }
    sent.push(
      new Promise((resolve) => {
        socket.once('close', () => resolve())
        socket.write(headPart)
        socket.write(body.subarray(0, cut), () => resolve())
      }),
    )
    return new Promise<void>((resolve) =>
      socket.once('close', () => {
        const status = /^HTTP\/1\.1 (\d{3})/.exec(said)?.[1] ?? 'none'
        answers[status] = (answers[status] ?? 0) + 1
        resolve()
      }),
    )
  })
  const limit = setTimeout(() => sockets.forEach((socket) => void socket.destroy()), ANSWER_MS)
  // Some cannot get rid of what they have: nobody reads it.
  await Promise.race([Promise.all(sent), pause(WAIT_MS)])
  if (how === 'together') for (const socket of sockets) if (!socket.destroyed) socket.write(body.subarray(cut))
  if (how === 'half' || how === 'unread') {
    await pause(WAIT_MS)
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await Promise.all(over)
  clearTimeout(limit)
  return answers
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
