// The encryption of requests that a flow of WhatsApp makes of its endpoint. A phone makes an AES key for each request and
// encrypts it with the business' public RSA key (OAEP, SHA-256); request and answer are AES-128-GCM under it, the answer with
// every bit of the initial vector flipped. Pure.
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  privateDecrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'

/** WhatsApp takes keys of this length only. */
const RSA_BITS = 2_048
const AES_BYTES = 16
const TAG_BYTES = 16
/** Lengths of an initial vector: WhatsApp's own, and the usual one of GCM. */
const IV_BYTES: ReadonlySet<number> = new Set([16, 12])
const CIPHER = 'aes-128-gcm'

/** The body of a request, its three texts in base64. */
export interface EncryptedRequest {
  encrypted_flow_data: string
  encrypted_aes_key: string
  initial_vector: string
}

/** A request that was opened: its text, and how its answer is encrypted. */
export interface OpenedRequest {
  text: string
  /** The answer in base64, as WhatsApp takes it. */
  seal: (answer: string) => string
}

/** A new private key, PKCS #8 in base64. Takes some 100 ms of another thread. */
export async function newPrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: RSA_BITS })
  return privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
}

/** A private key as `newPrivateKey` wrote it. */
export const readPrivateKey = (text: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(text, 'base64'), type: 'pkcs8', format: 'der' })

/** The public key of a private one: PEM, to be uploaded to WhatsApp, and an id, the beginning of its SHA-256. */
export function publicKeyOf(privateKey: KeyObject): { id: string; pem: string } {
  const publicKey = createPublicKey(privateKey)
  const der = publicKey.export({ type: 'spki', format: 'der' })
  const id = createHash('sha256').update(der).digest('hex').slice(0, 16)
  return { id, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

/** Opens a request with the first of these keys that fits; undefined when none does, or when it was changed on its way. */
export function openRequest(request: EncryptedRequest, keys: readonly KeyObject[]): OpenedRequest | undefined {
  const iv = Buffer.from(request.initial_vector, 'base64')
  const data = Buffer.from(request.encrypted_flow_data, 'base64')
  if (!IV_BYTES.has(iv.length) || data.length < TAG_BYTES) return undefined
  for (const key of keys) {
    const aesKey = decryptKey(Buffer.from(request.encrypted_aes_key, 'base64'), key)
    const text = aesKey && decryptText(data, aesKey, iv)
    if (aesKey !== undefined && text !== undefined)
      return { text, seal: (answer) => encrypt(answer, aesKey, flipped(iv)) }
  }
  return undefined
}

function decryptKey(encrypted: Buffer, key: KeyObject): Buffer | undefined {
  try {
    const aesKey = privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, encrypted)
    return aesKey.length === AES_BYTES ? aesKey : undefined
  } catch {
    return undefined
  }
}

function decryptText(data: Buffer, aesKey: Buffer, iv: Buffer): string | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, aesKey, iv, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(data.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(data.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

function encrypt(text: string, aesKey: Buffer, iv: Buffer): string {
  const cipher = createCipheriv(CIPHER, aesKey, iv, { authTagLength: TAG_BYTES })
  return Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

const flipped = (iv: Buffer): Buffer => Buffer.from(iv.map((byte) => byte ^ 0xff))

/**
 * Whether a `flow_token_signature`, a JWT (HS256) of WhatsApp, is signed with one of the app's secrets, and is that of this flow
 * token where it names one.
 */
export function isTokenSigned(jwt: string, flowToken: string | undefined, appSecrets: readonly string[]): boolean {
  const [head = '', claims = '', signature = '', ...more] = jwt.split('.')
  if (more.length > 0 || jsonOf(head)?.alg !== 'HS256') return false
  const given = Buffer.from(signature, 'base64url')
  const isSigned = appSecrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${head}.${claims}`).digest()
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  const named = jsonOf(claims)?.flow_token
  return isSigned && (named === undefined || named === flowToken)
}

function jsonOf(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
