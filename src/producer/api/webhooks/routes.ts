// Where the chat product's Cloud API reports. Both look after themselves: one by the verify token, one by a signature.
import { z } from 'zod'
import { route } from '../../route.ts'
import { done } from '../answers.ts'
import { textIdField } from '../fields.ts'

/** The chat product sends up to 3 MB and 1,000 updates in one POST. */
const LIMIT_BYTES = 4 * 1024 * 1024

const path = '/webhooks/cloud-api'
const word = z.unknown().meta({ type: 'string' })
const ofAccount = `${path}/:account`
const access = { in: 'open', why: 'checks the signature or the verify token itself' } as const

// Whatever is wrong is a wrong token: it is refused by the handler.
const query = z.object({
  'hub.mode': word.optional(),
  'hub.verify_token': word.optional(),
  'hub.challenge': word.optional(),
})
const params = z.object({ account: textIdField })
const shake = { 'hub.mode': 'subscribe', 'hub.verify_token': 'a secret', 'hub.challenge': '1158201444' }

const headers = z.object({
  'X-Hub-Signature-256': z
    .string()
    .optional()
    .describe('`sha256=` and the HMAC-SHA256 of the raw body under the app secret, in hex.'),
})
const body = {
  as: 'raw',
  schema: z.looseObject({ object: z.string(), entry: z.array(z.unknown()) }),
  limit: LIMIT_BYTES,
} as const
const report = {
  headers: { 'X-Hub-Signature-256': 'sha256=…' },
  body: { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [] }] },
  status: 200,
  answer: { status: true, message: 'received' },
}

export const webhooks = {
  handshake: route({
    method: 'get',
    path,
    summary: 'The verification handshake: answers the challenge to who knows the verify token.',
    access,
    query,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/plain'] } },
    errors: { 403: ['forbidden'] },
    examples: [{ query: shake, status: 200 }],
  }),
  report: route({
    method: 'post',
    path,
    summary: 'Takes statuses and received messages, and answers once all of it is written down.',
    access,
    isFast: true,
    headers,
    body,
    answers: { 200: done },
    errors: { 401: ['bad_signature'] },
    examples: [report],
  }),
  accountHandshake: route({
    method: 'get',
    path: ofAccount,
    summary: 'The same handshake, with a verify token of the account.',
    access,
    params,
    query,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/plain'] } },
    errors: { 403: ['forbidden'] },
    examples: [{ params: { account: '1' }, query: shake, status: 200 }],
  }),
  accountReport: route({
    method: 'post',
    path: ofAccount,
    summary: 'The same, signed with an app secret of the account; it moves nothing of another one.',
    access,
    params,
    headers,
    body,
    answers: { 200: done },
    errors: { 401: ['bad_signature'] },
    examples: [{ ...report, params: { account: '1' } }],
  }),
}
