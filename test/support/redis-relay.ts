// A relay in front of a Redis: for as long as a test wants, it answers every command with an error, or each answer is late.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../testbed/free-port.ts'

export interface RedisRelay {
  url: string
  /** From now on each command is answered with this error and does not reach Redis; undefined: passed on. */
  refuse(error: string | undefined): void
  /** From now on each answer comes so much later (ms). */
  delay(ms: number): void
  /** How many commands were answered so. */
  refused(): number
  close(): Promise<void>
}

/** Starts a relay on a free port. */
export async function startRedisRelay(port: number): Promise<RedisRelay> {
  let refused: string | undefined
  let refusals = 0
  let lateMs = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const redis = connect(port, '127.0.0.1')
    for (const socket of [client, redis]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        redis.destroy()
      })
    }
    let rest = Buffer.alloc(0)
    client.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (let end = endOfCommand(rest); end > 0; end = endOfCommand(rest)) {
        if (refused === undefined) redis.write(rest.subarray(0, end))
        else {
          refusals += 1
          client.write(`-${refused}\r\n`)
        }
        rest = rest.subarray(end)
      }
    })
    /** When the latest answer is due: none may overtake one that came before the delay was changed. */
    let dueAt = 0
    redis.on('data', (chunk: Buffer) => {
      const now = performance.now()
      const isFree = dueAt < now
      dueAt = Math.max(dueAt, now + lateMs)
      if (isFree && lateMs === 0) client.write(chunk)
      else setTimeout(() => client.write(chunk), dueAt - now)
    })
  })
  const at = await listen(server)
  return {
    url: `redis://127.0.0.1:${at}`,
    refuse(error) {
      refused = error
    },
    delay(ms) {
      lateMs = ms
    },
    refused: () => refusals,
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Where the first command in the bytes ends; 0 while it is not whole. A command is an array of strings with their lengths. */
function endOfCommand(bytes: Buffer): number {
  let at = 0
  const number = (): number => {
    const end = bytes.indexOf('\r\n', at)
    if (end === -1) return -1
    const read = Number(bytes.toString('latin1', at + 1, end))
    at = end + 2
    return read
  }
  const words = number()
  for (let word = 0; word < words; word += 1) {
    const length = number()
    if (length === -1) return 0
    at += length + 2
  }
  return words === -1 || at > bytes.length ? 0 : at
}
