// Pins: every kind of message is taken over HTTP and in batches, leaves on both wires as WhatsApp takes it, and is
// shown by every lookup. Real: Redis, HTTP, producer, worker, and the simulator with its own checks of both wires.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { messages as routes } from '../../src/producer/api/messages/routes.ts'
import { errorOf } from '../support/api-error.ts'
import { bodyOfKind, OTHER_KINDS } from '../support/example-messages.ts'
import { acknowledgedId, infoOf, reaches } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

const SERVICE = '/sendservicemessages/sendmessages'

let service: Service
let partner: Tenant
let cloud: Tenant
beforeAll(async () => {
  service = await startService()
  partner = await service.addTenant()
  cloud = await service.addTenant({ defaultProvider: 'cloud-api' })
})
afterAll(() => service?.close())

const send = (tenant: Tenant, type: string, content: unknown, more: object = {}) =>
  service.post(SERVICE, { ...bodyOfKind(type, content, more), to: '+491700000001', api_key: tenant.apiKey })
const text = { body: 'Hello' }

const shown = async ({ api }: Tenant, id: string) => (await api.call(routes.show, { params: { id } })).data

describe.concurrent.each<[string, () => Tenant]>([
  ['partner-api', () => partner],
  ['cloud-api', () => cloud],
])('on %s', (_provider, tenantOf) => {
  test.each(OTHER_KINDS)('%s is sent, and its lookup has what the person reads', async (_kind, type, content, said) => {
    const tenant = tenantOf()
    const id = acknowledgedId(await send(tenant, type, content))
    await reaches(service, tenant, id, 'read')
    expect(await infoOf(service, tenant, id)).toMatchObject({ message_type: type, message_text: said })
    expect(await shown(tenant, id)).toMatchObject({ kind: type, text: said })
  })

  test('a message quotes and reacts to one that was sent, by our id', async () => {
    const tenant = tenantOf()
    const first = acknowledgedId(await send(tenant, 'text', text))
    await reaches(service, tenant, first, 'read')
    const { provider_id } = await shown(tenant, first)
    expect(provider_id).not.toBe(first)
    const answer = acknowledgedId(await send(tenant, 'text', text, { context: { message_id: first } }))
    const reaction = acknowledgedId(await send(tenant, 'reaction', { message_id: first, emoji: '👍' }))
    await reaches(service, tenant, answer, 'read')
    await reaches(service, tenant, reaction, 'read')
  })
})

test('a message quotes one of ours that another sender sent, when it names that sender', async () => {
  const first = acknowledgedId(await send(partner, 'text', text, { sender: 'cloud' }))
  await reaches(service, partner, first, 'read')
  const answering = { context: { message_id: first } }
  const fromDefault = await send(partner, 'text', text, answering)
  expect([fromDefault.status, errorOf({ json: fromDefault.body }).details]).toEqual([
    400,
    [{ path: 'context.message_id', message: 'no message that this sender has sent' }],
  ])
  const answer = acknowledgedId(await send(partner, 'text', text, { ...answering, sender: partner.cloudNumber }))
  await reaches(service, partner, answer, 'read')
  expect(await infoOf(service, partner, answer)).toMatchObject({ message_from: partner.cloudNumber })
})

test('a batch accepts every kind, and refuses a wrong one without harm to the others', async () => {
  const messages = OTHER_KINDS.map(([, type, content]) => {
    const { api_key: _, ...body } = bodyOfKind(type, content)
    return body
  })
  const wrong = { ...messages[0], text: { body: '' } }
  const { json } = await cloud.api.post('/messages/batch', { messages: [...messages, wrong] })
  const { results } = z.object({ results: z.array(z.looseObject({ id: z.string().optional() })) }).parse(json)
  expect(results.slice(0, -1).every(({ id }) => id !== undefined)).toBe(true)
  expect(results.at(-1)).toMatchObject({ error: { code: 'invalid_request' } })
  for (const { id = '' } of results.slice(0, -1)) await reaches(service, cloud, id, 'read')
})

describe('quoting one of our ids is refused', () => {
  const refused = (path: string) => ({
    code: 'invalid_request',
    details: [{ path, message: 'no message that this sender has sent' }],
  })

  test.each([
    ['that nobody has', () => `msg_${partner.partnerLane}_01M7WMESZP60D32VY8E5FM00EP`],
    ['of another account', async () => acknowledgedId(await send(cloud, 'text', text))],
  ])('%s', async (_name, idOf) => {
    const id = await idOf()
    const answer = await send(partner, 'text', text, { context: { message_id: id } })
    expect(answer.status).toBe(400)
    expect(errorOf({ json: answer.body })).toMatchObject(refused('context.message_id'))
    const reaction = await send(partner, 'reaction', { message_id: id, emoji: '👍' })
    expect(errorOf({ json: reaction.body })).toMatchObject(refused('reaction.message_id'))
  })
})
