// A phone that opens a flow, and WhatsApp's server between it and the endpoint: written with Node's own crypto alone, from the
// provider's description, and with nothing of the product.
import { constants, createCipheriv, createDecipheriv, createHmac, publicEncrypt, randomBytes } from 'node:crypto'

/** A request as it is posted, and how its answer is read. */
export interface PhoneRequest {
  body: { encrypted_flow_data: string; encrypted_aes_key: string; initial_vector: string }
  read: (answer: string) => unknown
}

/** Encrypts a request for the public key (PEM). */
export function phoneAsks(publicKey: string, asked: object, { ivBytes = 16, keyBytes = 16 } = {}): PhoneRequest {
  const [aesKey, iv] = [randomBytes(keyBytes), randomBytes(ivBytes)]
  const name = keyBytes === 16 ? 'aes-128-gcm' : 'aes-256-gcm'
  const cipher = createCipheriv(name, aesKey, iv)
  const data = Buffer.concat([cipher.update(JSON.stringify(asked), 'utf8'), cipher.final(), cipher.getAuthTag()])
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  return {
    body: {
      encrypted_flow_data: data.toString('base64'),
      encrypted_aes_key: publicEncrypt({ key: publicKey, padding, oaepHash: 'sha256' }, aesKey).toString('base64'),
      initial_vector: iv.toString('base64'),
    },
    read(answer) {
      const bytes = Buffer.from(answer, 'base64')
      const turned = Buffer.from(iv)
      for (let i = 0; i < turned.length; i += 1) turned[i] = ~(turned[i] ?? 0) & 0xff
      const decipher = createDecipheriv(name, aesKey, turned)
      decipher.setAuthTag(bytes.subarray(bytes.length - 16))
      const text = Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - 16)), decipher.final()])
      return JSON.parse(text.toString('utf8'))
    },
  }
}

/** The header of a request that WhatsApp's server posts. */
export const hubSignature = (body: string, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`

/** The signature of a flow token: a JWT. */
export function tokenSignature(claims: object, appSecret: string, alg = 'HS256'): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', appSecret).update(signed).digest('base64url')}`
}
