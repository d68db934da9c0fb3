// Seals provider tokens: AES-256-GCM under a key derived from LANEWAY_SECRET_KEY, so that a copy of Redis gives away
// no token.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts and decrypts short secrets; `decrypt` throws a SealError when the sealed text was made under another key. */
export type Seal = ReturnType<typeof createSeal>

/** A sealed text that is damaged, or was sealed under another LANEWAY_SECRET_KEY. */
export class SealError extends Error {
  override name = 'SealError'
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * A Seal under `secretKey` (LANEWAY_SECRET_KEY or what stands in for it; every process must share it). A sealed text is
 * base64url of nonce, tag and ciphertext: 28 bytes more than the secret.
 */
export function createSeal(secretKey: string) {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'laneway provider token', 32))
  return {
    encrypt(plain: string): string {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    decrypt(sealed: string): string {
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
      try {
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw new SealError('A provider token cannot be opened: it was sealed under another LANEWAY_SECRET_KEY.', {
          cause,
        })
      }
    },
  }
}
