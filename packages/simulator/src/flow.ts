// `POST /_flow`: a phone shows a flow whose screens ask the server of a business. The request is encrypted for the public key
// of the business and signed with the app secret, as WhatsApp does it; the answer is opened as the phone does.
import { constants, createCipheriv, createDecipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import { request } from 'undici'
import { z } from 'zod'
import { signatureOf } from './webhook-body.ts'

/** WhatsApp waits about this long. */
const ANSWER_LIMIT_MS = 10_000
const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
const TAG_BYTES = 16

function isPublicKey(pem: string): boolean {
  try {
    return createPublicKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}

/** Body of `POST /_flow`. */
export const flowSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: 'must be the address of the flow' }),
  public_key: z.string().max(10_000).refine(isPublicKey, 'must be the public key of the business, as PEM'),
  action: z.enum(['ping', 'INIT', 'BACK', 'data_exchange']).default('data_exchange'),
  screen: z.string().max(200).optional(),
  flow_token: z.string().max(512).optional(),
  data: z.record(z.string(), z.unknown()).optional(),
})

/** Asks, and resolves to the status and the answer: what the phone reads, or else the text as it came. */
export async function askFlow(
  { url, public_key: publicKey, ...asked }: z.infer<typeof flowSchema>,
  appSecret: string,
): Promise<{ status: number; answer: unknown }> {
  const [key, iv] = [randomBytes(16), randomBytes(16)]
  const cipher = createCipheriv('aes-128-gcm', key, iv)
  const data = [cipher.update(JSON.stringify({ version: '3.0', ...asked })), cipher.final(), cipher.getAuthTag()]
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const body = Buffer.from(
    JSON.stringify({
      encrypted_flow_data: Buffer.concat(data).toString('base64'),
      encrypted_aes_key: publicEncrypt({ key: publicKey, padding, oaepHash: 'sha256' }, key).toString('base64'),
      initial_vector: iv.toString('base64'),
    }),
  )
  const response = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': signatureOf(body, appSecret) },
    body,
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
  })
  const text = await firstOf(response.body)
  return { status: response.statusCode, answer: opened(text, key, iv) ?? text }
}

async function firstOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > ANSWER_LIMIT_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** What the phone reads; undefined where the answer is not encrypted for it. */
function opened(text: string, key: Buffer, iv: Buffer): unknown {
  const bytes = Buffer.from(text, 'base64')
  const turned = Buffer.from(iv.map((byte) => ~byte & 0xff))
  try {
    const decipher = createDecipheriv('aes-128-gcm', key, turned)
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const read = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
    return JSON.parse(read.toString('utf8'))
  } catch {
    return undefined
  }
}
