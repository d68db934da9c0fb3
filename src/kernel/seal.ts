// Seals secrets that are kept in Redis: AES-256-GCM under a key derived from LANEWAY_SECRET_KEYS, so that a copy of
// Redis gives none of them away. Each is bound to its context, a provider's token to its sender and the server that it is
// sent to: whoever can write to Redis cannot have it opened for another sender.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts and decrypts short secrets; `decrypt` throws a SealError when it has no key for it, or for another context. */
export type Seal = ReturnType<typeof createSeal>

/** Whose token it is. */
export interface TokenContext {
  sender: number
  /** Of the server that it is sent to, as it is stored. */
  baseUrl: string
}

/** Whose webhook secret it is, and which of them. */
export interface WebhookSecretContext {
  account: number
  name: string
}

/** What a sealed text is bound to: it opens for nothing else. */
export type SealContext = TokenContext | WebhookSecretContext

/** A secret that is sealed once its context is known. */
export type SealedFor<P extends SealContext = SealContext> = (context: P) => string

/** A sealed text that is damaged, was moved, or was sealed under a key that LANEWAY_SECRET_KEYS does not have. */
export class SealError extends Error {
  override name = 'SealError'
}

/** How many secrets were resealed under the first key, and how many had it already. */
export interface Resealed {
  sealed: number
  fresh: number
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^v2\.([0-9a-f]{8})\.([\w-]+)$/

interface Key {
  id: string
  bytes: Buffer
}

/**
 * A Seal under `secretKeys` (LANEWAY_SECRET_KEYS or what stands in for it; every process must share them): the first
 * seals, all open. A sealed text is `v2.<id of the key>.` and base64url of nonce, tag and ciphertext.
 */
export function createSeal(secretKeys: readonly string[] | (() => readonly string[])) {
  let read: Key[] | undefined
  /** Read when the first secret is sealed or opened: who only looks at other things needs no key, and makes no file with one. */
  function keysOf(): readonly [Key, ...Key[]] {
    read ??= (typeof secretKeys === 'function' ? secretKeys() : secretKeys).map(keyOf)
    const [first, ...others] = read
    if (first === undefined) throw new Error('a seal without a key')
    return [first, ...others]
  }

  const encrypt =
    (plain: string): SealedFor =>
    (context) => {
      const [first] = keysOf()
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first.bytes, nonce).setAAD(textOf(context))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `v2.${first.id}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`
    }

  function decrypt(sealed: string, context: SealContext): string {
    const [, id, body = ''] = SEALED.exec(sealed) ?? []
    const key = keysOf().find((each) => each.id === id)
    const plain = key && open(key, Buffer.from(body, 'base64url'), textOf(context))
    if (plain !== undefined) return plain
    throw new SealError(
      'A secret cannot be opened: it was sealed under a key that LANEWAY_SECRET_KEYS does not have, or for another place.',
    )
  }

  const isFresh = (sealed: string): boolean => SEALED.exec(sealed)?.[1] === keysOf()[0].id

  return {
    /** Seals a secret under the first key, for the context that it is then given. */
    encrypt,
    decrypt,
    /** Whether it is sealed under the first key already. */
    isFresh,

    /** The same secrets of one context under the first key, and how many had another one. */
    reseal(all: readonly string[], context: SealContext): Resealed & { secrets: string[] } {
      const secrets = all.map((each) => (isFresh(each) ? each : encrypt(decrypt(each, context))(context)))
      const fresh = all.filter(isFresh).length
      return { secrets, sealed: all.length - fresh, fresh }
    },
  }
}

function keyOf(secretKey: string): Key {
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', secretKey, '', purpose, bytes))
  return { id: derive('laneway key id', 4).toString('hex'), bytes: derive('laneway provider token', 32) }
}

const textOf = (context: SealContext): Buffer =>
  Buffer.from(
    JSON.stringify(
      'sender' in context ? ['token', context.sender, context.baseUrl] : ['webhook', context.account, context.name],
    ),
  )

function open(key: Key, bytes: Buffer, context: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, NONCE_BYTES)).setAAD(context)
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
