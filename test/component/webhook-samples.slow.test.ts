// Pins: every documented webhook that is posted, signed, is answered with 200 and found afterwards: a received message among the messages, what
// it tells besides among the notices, and none is lost. Real: Redis, HTTP, producer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { setSenderProvider } from '../../src/accounts/senders.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { NOTICES } from '../support/webhook-notices.ts'
import { ABOUT_US, metadata, RECEIVED, STATUSES } from '../support/webhook-samples.ts'
import { postSigned } from '../support/webhooks.ts'

let service: CampaignService
let admin: string
beforeAll(async () => {
  service = await startCampaigns({ worker: false })
  await setSenderProvider(service.redis, service.lane, { wabaId: '4711' })
  admin = (await createCredential(service.redis, service.tenant.account, ['admin'], Date.now())).secret
})
afterAll(() => service?.close())

/** Posts a sample as WhatsApp would of the sender of this account; `place` keeps messages and times apart. */
async function bring(field: string, value: object, place: number): Promise<number> {
  const time = Math.floor(Date.now() / 1_000) - 10_000 + place
  const entry = [{ id: '4711', time, changes: [{ field, value }] }]
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry })
    .replaceAll(metadata.phone_number_id, `${PHONE_NUMBER_ID}1`)
    .replaceAll(metadata.display_phone_number, service.sender)
    .replaceAll('wamid.R', `wamid.R${place}`)
  return (await postSigned(`${service.url}/webhooks/cloud-api`, body)).status
}

const listed = z.object({ data: z.array(z.looseObject({ kind: z.string(), provider_id: z.string().nullable() })) })
const noticed = z.object({ data: z.array(z.looseObject({ field: z.string() })) })

test(`all ${RECEIVED.length} received messages are kept, each with its kind`, async () => {
  for (const [place, [name, field, value]] of RECEIVED.entries())
    expect([name, await bring(field, value, place)]).toEqual([name, 200])
  const answer = await service.request('GET', '/messages?direction=inbound&limit=1000')
  const kinds = new Map(listed.parse(answer.json()).data.map(({ provider_id, kind }) => [provider_id, kind]))
  const expected = RECEIVED.map(([, , , { received }], place) => [`wamid.R${place}`, received?.[0]])
  expect(Object.fromEntries(kinds)).toEqual(Object.fromEntries(expected))
})

test(`none of all ${STATUSES.length} statuses of unknown messages does harm`, async () => {
  for (const [place, [name, field, value]] of STATUSES.entries())
    expect([name, await bring(field, value, place)]).toEqual([name, 200])
})

test('every other report in the samples is kept as a notice', async () => {
  const samples = [...ABOUT_US, ...NOTICES]
  const fields = samples.flatMap(([, , , { news = [] }]) => news.map((each) => each.replace('?', '')))
  for (const [place, [name, field, value]] of samples.entries())
    expect([name, await bring(field, value, place)]).toEqual([name, 200])
  const answer = await service.request('GET', '/admin/notices?limit=1000', undefined, admin)
  expect(
    noticed
      .parse(answer.json())
      .data.map(({ field }) => field)
      .toSorted(),
  ).toEqual(fields.toSorted())
})
