// Signatures of Standard Webhooks 1.0: HMAC-SHA256 over id, time and body, under a secret that only the endpoint knows.
// https://www.standardwebhooks.com

import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret, `whsec_` and base64 of 32 random bytes. */
export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** What is signed: the id of a delivery, the time of the attempt in Unix seconds, and the body as it is sent. */
export interface Signed {
  id: string
  seconds: number
  body: string
}

/** The value of `webhook-signature`: one signature for each secret, so that a consumer may still know the old one. */
export const signatures = (secrets: readonly string[], { id, seconds, body }: Signed): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
    })
    .join(' ')

/** The headers of a signed body, by Standard Webhooks. */
export const signedHeaders = (secrets: readonly string[], signed: Signed): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'laneway',
  'webhook-id': signed.id,
  'webhook-timestamp': String(signed.seconds),
  'webhook-signature': signatures(secrets, signed),
})
