// Pins: what the client does over HTTP for opt-outs, conversations, received messages and their files, with the right key,
// a wrong one, and a service that is away. Real: Redis, producer, client, simulator as WhatsApp.
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { connectLaneway, type LanewayOverHttp } from '../../packages/client/src/index.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { addOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { freePort } from '../testbed/free-port.ts'

const ADA = '+447700900161'
const ADA_DIGITS = '447700900161'

let service: Service
let tenant: Tenant
let laneway: LanewayOverHttp
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  const may = ['messages:send', 'messages:read', 'contacts:read', 'contacts:write'] as const
  const { secret } = await createCredential(service.redis, tenant.account, may, Date.now())
  laneway = await connectLaneway({ url: service.url, apiKey: secret })
})
afterAll(async () => {
  await laneway?.close()
  await service?.close()
})

const identified = z.object({ id: z.string() })
async function writes(message: object): Promise<string> {
  const body = JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, ...message })
  return identified.parse(await (await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body })).json()).id
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of list) found.push(each)
  return found
}

test('a received message is marked as read, and the person sees that somebody is typing', async () => {
  const id = await writes({ from: '+447700900199', text: 'Hello?' })
  await laneway.conversations.markRead(id)
  await laneway.conversations.markRead(id, { typing: true })
  const taken = await (await fetch(`${service.simulator.url}/_receipts`)).json()
  expect(taken).toMatchObject([
    { message_id: id, typing: false },
    { message_id: id, typing: true },
  ])
  await expect(laneway.conversations.markRead('wamid.nobody')).rejects.toMatchObject({ code: 'not_found' })
})

describe('opt-outs', () => {
  test('are added, found, listed and removed, however often this is repeated', async () => {
    const added = await laneway.optOuts.add(ADA)
    expect(added).toMatchObject({ person: ADA_DIGITS, source: 'http' })
    expect(await laneway.optOuts.add('+44 7700 900161')).toEqual(added)
    expect(await laneway.optOuts.find(ADA)).toEqual(added)
    expect(await all(laneway.optOuts.list())).toEqual([added])
    await laneway.optOuts.remove(ADA)
    await laneway.optOuts.remove(ADA)
    expect(await laneway.optOuts.find(ADA)).toBeUndefined()
  })

  test('are listed to the last page', async () => {
    const people = Array.from({ length: 1_001 }, (_, i) => `4915205${String(i).padStart(6, '0')}`)
    await addOptOuts(service.redis, tenant.account, people, { source: 'cli' })
    const found = await all(laneway.optOuts.list())
    expect(new Set(found.map(({ person }) => person))).toEqual(new Set(people))
    expect(found).toHaveLength(people.length)
  })

  test('are refused with a key that lacks the permission, and for what is no person', async () => {
    const other = await connectLaneway({ url: service.url, apiKey: tenant.apiKey })
    await expect(other.optOuts.add(ADA)).rejects.toMatchObject({ name: 'LanewayRefused', code: 'forbidden' })
    await expect(all(other.optOuts.list())).rejects.toMatchObject({ code: 'forbidden' })
    await other.close()
    await expect(laneway.optOuts.add('nobody')).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ path: 'person' }],
    })
  })
})

describe('a conversation', () => {
  test('opens when the person writes, and what they wrote is listed with its parts', async () => {
    expect(await laneway.conversations.show(ADA)).toMatchObject({ person: ADA_DIGITS, open: false, opted_out: false })
    await writes({ from: ADA, text: 'Hello' })
    await writes({ from: ADA, type: 'location', content: { location: { latitude: 1.5, longitude: -2 } } })
    await writes({ from: '+447700900162', text: 'Somebody else' })
    expect(await laneway.conversations.show(ADA, { sender: tenant.cloudNumber })).toMatchObject({
      sender: tenant.cloudNumber,
      open: true,
    })
    const found = await all(laneway.conversations.received({ from: ADA, sender: tenant.cloudNumber }))
    // Both were written within the same second, which is all that WhatsApp tells.
    expect(found.sort((a, b) => a.kind.localeCompare(b.kind))).toMatchObject([
      { kind: 'location', from: ADA_DIGITS, location: { latitude: 1.5, longitude: -2 } },
      { kind: 'text', text: 'Hello', direction: 'inbound' },
    ])
    expect(await all(laneway.conversations.received({ from: ADA, until: new Date(Date.now() - 60_000) }))).toEqual([])
  })

  test('lists what was sent and what was received', async () => {
    const id = await laneway.send({ to: ADA, type: 'text', text: { body: 'Hello back' } })
    const found = await all(laneway.conversations.messages(ADA, { sender: tenant.cloudNumber }))
    expect(found.map(({ direction }) => direction).sort()).toEqual(['inbound', 'inbound', 'outbound'])
    expect(found.find(({ direction }) => direction === 'outbound')).toMatchObject({ id, text: 'Hello back' })
    expect(await all(laneway.conversations.messages(ADA, { sender: tenant.partnerNumber }))).toEqual([])
  })

  test('with an unknown sender is refused', async () => {
    await expect(laneway.conversations.show(ADA, { sender: 'none' })).rejects.toMatchObject({ code: 'unknown_sender' })
  })

  test('has files, which can be read as a stream', async () => {
    const id = await writes({ from: ADA, type: 'document', text: 'Bill' })
    const { type, name, bytes, body } = await laneway.conversations.file(id)
    expect({ type, name, bytes, text: await text(body) }).toEqual({
      ...{ type: 'application/pdf', name: 'document.pdf', bytes: 25 },
      text: 'A made-up document: Bill\n',
    })
    const plain = await writes({ from: ADA, text: 'No file' })
    await expect(laneway.conversations.file(plain)).rejects.toMatchObject({ code: 'not_found' })
    await expect(laneway.conversations.file('wamid.nobody')).rejects.toMatchObject({ code: 'not_found' })
  })
})

test('while the service is away every call fails once its time is over', async () => {
  const away = await connectLaneway({ url: `http://127.0.0.1:${await freePort()}`, apiKey: 'lw_x' })
  // Time enough for a first try, without which nobody knows that it is away.
  const options = { timeoutMs: 5_000 }
  const unavailable = { name: 'LanewayUnavailable' }
  await Promise.all([
    expect(away.optOuts.find(ADA, options)).rejects.toMatchObject(unavailable),
    expect(away.conversations.show(ADA, options)).rejects.toMatchObject(unavailable),
    expect(away.conversations.file('wamid.A', options)).rejects.toMatchObject(unavailable),
  ])
  await away.close()
  await expect(away.optOuts.find(ADA)).rejects.toMatchObject(unavailable)
})

test('these calls do not exist on the intake queue', async () => {
  const queued = await connectLaneway({ redisUrl: service.server.url, apiKey: tenant.apiKey })
  expect(Object.keys(queued)).not.toContain('optOuts')
  await queued.close()
})
