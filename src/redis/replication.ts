// Waiting until replicas have what was written, for LANEWAY_REDIS_MIN_REPLICAS. WAIT answers for all that its own connection
// wrote before, so it must follow the write on that very connection, and holds up whatever comes after it there. So of each
// connection at most one is under way: what is written meanwhile shares the next one.
//
// An answer counts only if the connection was never lost since the write: after a failover the new primary has replicas
// too, and lacks what the old one had not passed on.
import { Command } from 'ioredis'
import { type Redis, type RedisNode, serverOf } from './connect.ts'
import { onSent } from './connections.ts'
import { RedisUnavailableError } from './errors.ts'

/** How long replicas may take; and once they were too slow, until they answer again, for it holds up everybody. */
const LIMIT_MS = 1_000
const SHORT_LIMIT_MS = 100

/** The primary has written it, and too few replicas have it in time. `reply` is what the primary answered. */
export class NotReplicatedError extends RedisUnavailableError {
  override name = 'NotReplicatedError'
  readonly reply: unknown

  constructor(reply: unknown) {
    super('Too few replicas of Redis have it')
    this.reply = reply
  }
}

const least = new WeakMap<Redis, number>()
/** Servers whose replicas did not answer the last time. */
const failing = new WeakMap<Redis, Set<string>>()

/** Makes `sendReplicated` on this connection wait for so many replicas. */
export function requireReplicas(redis: Redis, replicas: number): void {
  if (replicas > 0) least.set(redis, replicas)
}

/** How many replicas are waited for on this connection. */
export const requiredReplicas = (redis: Redis): number => least.get(redis) ?? 0

/** Whether anything is waited for on this connection. */
export const needsReplicas = (redis: Redis): boolean => least.has(redis)

interface Waiting {
  replicas: number
  confirmed: Promise<boolean>
}
const waiting = new WeakMap<Command, Waiting>()

onSent((node, command) => {
  const found = waiting.get(command)
  // Sent again, to another server or after a reconnect, it waits anew.
  if (found) found.confirmed = gateOf(node).join(found.replicas)
})

/**
 * Sends a command, whose first key decides where, and waits for the replicas that are required. Rejects with a
 * NotReplicatedError when they do not have it in time: it may be lost with its primary, or not.
 */
export async function sendReplicated(redis: Redis, name: string, args: (string | number | Buffer)[], key: string) {
  const replicas = requiredReplicas(redis)
  const command = new Command(name, args, { replyEncoding: 'utf8' })
  const wait: Waiting = { replicas, confirmed: Promise.resolve(false) }
  if (replicas > 0) waiting.set(command, wait)
  redis.sendCommand(command)
  const reply: unknown = await command.promise
  if (replicas === 0) return reply
  const known = failing.get(redis) ?? new Set()
  failing.set(redis, known)
  if (!(await wait.confirmed)) {
    known.add(serverOf(redis, key))
    throw new NotReplicatedError(reply)
  }
  known.delete(serverOf(redis, key))
  return reply
}

/** Waits until the replicas have these keys, of one slot, as they are now; rejects also when there is none of them. */
export async function assertReplicated(redis: Redis, keys: readonly string[]): Promise<void> {
  if (!needsReplicas(redis)) return
  const there = await sendReplicated(redis, 'exists', [...keys], keys[0] ?? '')
  // The primary that had it was lost meanwhile.
  if (there === 0) throw new NotReplicatedError(there)
}

/**
 * Rejects when the replicas of the key's server did not answer the last time, and do not now: then nothing is to be written
 * there that would have to be taken back.
 */
export async function assertReplicating(redis: Redis, key: string): Promise<void> {
  if (failing.get(redis)?.has(serverOf(redis, key))) await sendReplicated(redis, 'exists', [key], key)
}

const gates = new WeakMap<RedisNode, ReturnType<typeof createGate>>()

function gateOf(node: RedisNode) {
  const gate = gates.get(node) ?? createGate(node)
  gates.set(node, gate)
  return gate
}

/** Those of one connection who wait. */
function createGate(node: RedisNode) {
  let next: { replicas: number; done: Promise<boolean>; resolve: (ok: boolean) => void } | undefined
  let isWaiting = false
  let wasLate = false

  async function wait(): Promise<void> {
    isWaiting = true
    while (next) {
      const { replicas, resolve } = next
      next = undefined
      // A failed WAIT counts as zero replicas.
      const found = await node.wait(replicas, wasLate ? SHORT_LIMIT_MS : LIMIT_MS).catch(() => 0)
      wasLate = found < replicas
      resolve(!wasLate)
    }
    isWaiting = false
  }

  return {
    /** Whether the replicas have what this connection has written until now, as soon as that is known. */
    join(replicas: number): Promise<boolean> {
      const { stream } = node
      if (next === undefined) {
        let resolve: (ok: boolean) => void = () => {}
        const done = new Promise<boolean>((resolved) => {
          resolve = resolved
        })
        next = { replicas, done, resolve }
        // What else is written in this turn shares it.
        if (!isWaiting) setImmediate(() => void wait())
        isWaiting = true
      }
      return next.done.then((ok) => ok && node.stream === stream)
    },
  }
}
