// Hangs up on a request at every stage of it: the way a phone loses its network, a browser seeks in a video, a client
// runs into its own time limit.
import { open } from './raw-client.ts'

export interface WholeRequest {
  name: string
  head: string
  body: Buffer
}

/** In which moment the connection is reset. */
export const STAGES = [
  'connected',
  'in the headers',
  'before the headers end',
  'after the headers',
  'in the body',
  'with the end of half a body',
  'before the last byte',
  'after the body',
  'at the first bytes of the answer',
  'while the answer is not being read',
] as const
export type Stage = (typeof STAGES)[number]

const LIMIT_MS = 10_000
const UNREAD_MS = 50

/** A request as it goes over the line. */
export function wholeRequest(
  name: string,
  {
    method,
    path,
    headers = [],
    body = Buffer.alloc(0),
  }: { method: string; path: string; headers?: string[]; body?: Buffer },
): WholeRequest {
  const length = body.length > 0 ? [`content-length: ${body.length}`] : []
  return {
    name,
    body,
    head: `${[`${method} ${path} HTTP/1.1`, 'host: x', ...headers, ...length].join('\r\n')}\r\n\r\n`,
  }
}

/** Sends it up to this stage and hangs up. Resolves when the connection is gone. */
export function hangUp(url: string, { head, body }: WholeRequest, stage: Stage): Promise<void> {
  return new Promise((resolve) => {
    const socket = open(url)
    const limit = setTimeout(() => socket.destroy(), LIMIT_MS)
    socket.once('close', () => {
      clearTimeout(limit)
      resolve()
    })
    const reset = (): void => void socket.resetAndDestroy()
    const half = Math.floor(body.length / 2)
    const parts: Record<Stage, [string, Buffer]> = {
      connected: ['', NOTHING],
      'in the headers': [head.slice(0, head.length / 2), NOTHING],
      'before the headers end': [head.slice(0, -2), NOTHING],
      'after the headers': [head, NOTHING],
      'in the body': [head, body.subarray(0, half)],
      'with the end of half a body': [head, body.subarray(0, half)],
      'before the last byte': [head, body.subarray(0, -1)],
      'after the body': [head, body],
      'at the first bytes of the answer': [head, body],
      'while the answer is not being read': [head, body],
    }
    const [text, bytes] = parts[stage]
    socket.once('connect', () => {
      socket.write(Buffer.concat([Buffer.from(text, 'latin1'), bytes]), () => {
        if (stage === 'at the first bytes of the answer') socket.once('data', reset)
        else if (stage === 'while the answer is not being read') setTimeout(reset, UNREAD_MS)
        else if (stage === 'with the end of half a body') socket.end(() => socket.resume())
        else reset()
      })
    })
  })
}

const NOTHING = Buffer.alloc(0)
