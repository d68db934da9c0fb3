// The id that a Cloud API request carries and its webhooks bring back: `v1.<message id>.<attempt>.<HMAC>`. The HMAC
// keeps anybody else who can write to the webhook, or another app on the same number, from settling our messages.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

export type OpaqueIds = ReturnType<typeof createOpaqueIds>

/** 12 bytes. */
const HMAC_CHARACTERS = 16
const SHAPE = /^v1\.(msg_\d+_[0-9A-Z]{26})\.([0-9A-Z]+)\.([\w-]{16})$/

/**
 * `secretKeys` are LANEWAY_SECRET_KEYS or what stands in for them; all processes must share them. The first signs, all
 * verify: webhooks bring back what was sent days ago.
 */
export function createOpaqueIds(secretKeys: readonly string[]) {
  const keys = secretKeys.map((each) => Buffer.from(hkdfSync('sha256', each, '', 'laneway opaque id', 32)))
  const [first] = keys
  if (first === undefined) throw new Error('opaque ids without a key')
  // As text at once: a Buffer of it first takes 1.6 times as long, and every message is signed.
  const hmac = (key: Buffer, text: string): string =>
    createHmac('sha256', key).update(text).digest('base64url').slice(0, HMAC_CHARACTERS)

  return {
    sign(id: string, attempt: string): string {
      const text = `v1.${id}.${attempt}`
      return `${text}.${hmac(first, text)}`
    },
    /** The message and attempt, or undefined for anything we did not write. */
    verify(opaque: string): { id: string; attempt: string } | undefined {
      const match = SHAPE.exec(opaque)
      if (!match?.[1] || !match[2] || !match[3]) return undefined
      const text = `v1.${match[1]}.${match[2]}`
      const given = Buffer.from(match[3])
      const isOurs = keys.some((key) => timingSafeEqual(given, Buffer.from(hmac(key, text))))
      return isOurs ? { id: match[1], attempt: match[2] } : undefined
    },
  }
}
