// The id that a Cloud API request carries and its webhooks bring back: `v1.<message id>.<attempt>.<HMAC>`. The HMAC
// keeps anybody else who can write to the webhook, or another app on the same number, from settling our messages.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

export type OpaqueIds = ReturnType<typeof createOpaqueIds>

const HMAC_BYTES = 12
const SHAPE = /^v1\.(msg_\d+_[0-9A-Z]{26})\.([0-9A-Z]+)\.([\w-]{16})$/

/** `secretKey` is LANEWAY_SECRET_KEY or what stands in for it; all processes must share it. */
export function createOpaqueIds(secretKey: string) {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'laneway opaque id', 32))
  const hmac = (text: string): Buffer => createHmac('sha256', key).update(text).digest().subarray(0, HMAC_BYTES)

  return {
    sign(id: string, attempt: string): string {
      const text = `v1.${id}.${attempt}`
      return `${text}.${hmac(text).toString('base64url')}`
    },
    /** The message and attempt, or undefined for anything we did not write. */
    verify(opaque: string): { id: string; attempt: string } | undefined {
      const match = SHAPE.exec(opaque)
      if (!match?.[1] || !match[2] || !match[3]) return undefined
      const expected = hmac(`v1.${match[1]}.${match[2]}`)
      const given = Buffer.from(match[3], 'base64url')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return { id: match[1], attempt: match[2] }
    },
  }
}
