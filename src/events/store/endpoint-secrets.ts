// The secrets of an endpoint: the present one, and former ones that still sign for a day. Sealed like provider tokens.

import type { Resealed, Seal } from '../../kernel/seal.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { newSecret } from '../../outbound/signatures.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

/** How long deliveries are also signed with the old secret after a rotation. */
const OLD_SECRET_MS = DAY_MS
/** More would make the header of signatures too long for some servers; the oldest are left out. */
const OLD_SECRETS_MAX = 9

interface Name {
  account: number
  id: string
}

/** As they are kept, sealed: `old_secrets` are the latest first, as `until:secret`, separated by spaces. */
export interface Secrets {
  secret: string
  old_secrets: string
}

/** The seal context of an endpoint's secrets. */
export const sealContextOf = ({ account, id }: Name) => ({ account, name: `endpoint ${id}` })

interface Old {
  untilMs: number
  sealed: string
}

function readOld(text: string): Old[] {
  const parts = text.split(' ').filter((part) => part !== '')
  return parts.map((part) => {
    const colon = part.indexOf(':')
    return { untilMs: Number(part.slice(0, colon)), sealed: part.slice(colon + 1) }
  })
}

const writeOld = (old: readonly Old[]): string => old.map(({ untilMs, sealed }) => `${untilMs}:${sealed}`).join(' ')

/**
 * Rotates the secret and returns it, once. The old one still signs for a day, even after further
 * rotations: a client that got no answer and rotates again does not end a secret in use.
 */
export async function rotateSecret(redis: Redis, name: Name, how: { seal: Seal; nowMs: number }): Promise<string> {
  const secret = newSecret()
  await change(redis, name, ({ secret: sealed, old_secrets }) => {
    const signing = readOld(old_secrets).filter(({ untilMs }) => untilMs > how.nowMs)
    const old = [{ untilMs: how.nowMs + OLD_SECRET_MS, sealed }, ...signing].slice(0, OLD_SECRETS_MAX)
    return { secret: how.seal.encrypt(secret)(sealContextOf(name)), old_secrets: writeOld(old) }
  })
  return secret
}

/** The secrets to sign with at a time (epoch ms), the present one first. */
export function secretsAt(endpoint: Name & Secrets, seal: Seal, nowMs: number): string[] {
  const old = readOld(endpoint.old_secrets).filter(({ untilMs }) => untilMs > nowMs)
  return [endpoint.secret, ...old.map(({ sealed }) => sealed)].map((each) =>
    seal.decrypt(each, sealContextOf(endpoint)),
  )
}

/** Seals its secrets under the first key. Throws a SealError. */
export async function resealEndpoint(redis: Redis, seal: Seal, name: Name): Promise<Resealed> {
  let counts: Resealed = { sealed: 0, fresh: 0 }
  await change(redis, name, ({ secret, old_secrets }) => {
    const old = readOld(old_secrets)
    const { secrets, ...resealed } = seal.reseal([secret, ...old.map(({ sealed }) => sealed)], sealContextOf(name))
    counts = resealed
    const [newest = secret, ...rest] = secrets
    const resealedOld = old.map(({ untilMs, sealed }, i) => ({ untilMs, sealed: rest[i] ?? sealed }))
    return { secret: newest, old_secrets: writeOld(resealedOld) }
  })
  return counts
}

const rotateScript = defineScript(import.meta.url, 'endpoint-rotate')

/** Of two changes at the same time the second tries again. Nothing is written for an endpoint that was removed. */
async function change(redis: Redis, { account, id }: Name, to: (from: Secrets) => Secrets): Promise<void> {
  const endpoint = eventKeys(account).endpoint(id)
  for (;;) {
    const [secret, olds] = await redis.hmget(endpoint, 'secret', 'old_secrets')
    if (typeof secret !== 'string') return
    const from = { secret, old_secrets: olds ?? '' }
    const next = to(from)
    if (next.secret === from.secret && next.old_secrets === from.old_secrets) return
    const args = { secret, olds: from.old_secrets, newSecret: next.secret, newOlds: next.old_secrets }
    if ((await rotateScript(redis, { endpoint }, args)) === 1) return
  }
}
