// The endpoint of flows, which checks WhatsApp's signatures itself, and its settings: the address of the account's own server, the
// keys that open requests, the secret that signs them for that server.
import { z } from 'zod'
import { FLOW_NAME, flowSettingsSchema } from '../../../flows/flow-request.ts'
import { textUpTo } from '../../../kernel/bounded.ts'
import { LIMITS } from '../../../model/messages/limits.ts'
import { made, named, one } from '../answers.ts'
import { routesOf } from '../define.ts'
import { signatureHeaders, textIdField } from '../fields.ts'

/** What a phone sends: a screen's fields, and pictures by their address. */
const LIMIT_BYTES = 1024 * 1024

const open = routesOf({
  access: { in: 'open', why: 'checks the signature itself' },
  params: z.object({ account: textIdField, flow: z.string().regex(FLOW_NAME) }),
  shown: { account: '1', flow: 'delivery' },
})
const base64 = z.string().describe('Base64.')
const bytes = { contentTypes: ['text/plain'] } as const

export const flows = {
  exchange: open.post('/flows/:account/:flow', 'Answers a request of a flow, from the account’s own server.', {
    details:
      'Decrypts it, passes it to the account’s server, which has 8 s to answer, and encrypts the answer. Health checks are ' +
      'answered directly. `flow` is a name of your own.',
    headers: signatureHeaders,
    body: {
      as: 'raw',
      schema: z.looseObject({ encrypted_flow_data: base64, encrypted_aes_key: base64, initial_vector: base64 }),
      limit: LIMIT_BYTES,
    },
    answers: { 200: bytes, 427: bytes },
    errors: {
      421: ['flow_unreadable'],
      432: ['flow_not_signed'],
      502: ['flow_unanswered'],
      503: ['overloaded'],
    },
    examples: [
      {
        headers: { 'X-Hub-Signature-256': 'sha256=…' },
        body: { encrypted_flow_data: 'r9c…', encrypted_aes_key: 'hX0…', initial_vector: 'u2R1PtoAn+wC1do9A5fyDA==' },
      },
    ],
  }),
}

const admin = routesOf({ access: { in: 'bearer', permission: 'admin' } })
const exampleKey = {
  id: '5f0c1d2e3a4b5c6d',
  created_at: '2026-11-24T10:00:00.000Z',
  public_key: '-----BEGIN PUBLIC KEY-----\nMIIB…\n-----END PUBLIC KEY-----\n',
}
const exampleSettings = { address: 'https://shop.example/flows', secrets: 1, keys: [exampleKey] }
const secretField = z.string().nullable().describe('`whsec_…`, shown only now; null if there was one already.')

export const flowSettings = {
  show: admin.get('/admin/flows', 'Shows how the account’s flows are served.', {
    answers: one(flowSettingsSchema),
    examples: [{ says: 'flows', data: exampleSettings }],
  }),
  change: admin.put('/admin/flows', 'Sets the address of the account’s own server.', {
    details: 'It follows the rule for addresses of event endpoints. In force within a second.',
    act: 'flow.set_address',
    body: z.strictObject({
      address: textUpTo(LIMITS.link)
        .pipe(z.url({ protocol: /^https?$/ }))
        .nullable(),
    }),
    answers: one(named('ChangedFlowSettings', { address: z.string().nullable(), secret: secretField })),
    examples: [
      {
        body: { address: 'https://shop.example/flows' },
        says: 'changed',
        data: { address: 'https://shop.example/flows', secret: 'whsec_…' },
      },
    ],
  }),
  addKey: admin.post('/admin/flows/keys', 'Makes a key and shows its public half, to be uploaded to WhatsApp.', {
    details: 'The previous key still opens requests until it is removed; an older one is dropped.',
    act: 'flow.add_key',
    answers: made(flowSettingsSchema.shape.keys.element),
    examples: [{ says: 'made', data: exampleKey }],
  }),
  removeKeys: admin.delete('/admin/flows/keys', 'Removes the older key within a second; with `all` every one.', {
    act: 'flow.remove_key',
    query: z.strictObject({ all: z.enum(['true', 'false']).optional().describe('The newest one too.') }),
    answers: one(flowSettingsSchema),
    examples: [{ says: 'removed', data: exampleSettings }],
  }),
  rotateSecret: admin.post('/admin/flows/rotate-secret', 'Makes a new secret and shows it, only now.', {
    details: 'The previous one signs as well until the next is made.',
    act: 'flow.rotate_secret',
    answers: one(named('FlowSecret', { secret: z.string() })),
    examples: [{ says: 'rotated; the old secret signs as well', data: { secret: 'whsec_…' } }],
  }),
}
