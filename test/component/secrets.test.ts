// Pins the keys that seal and sign: several at a time, tokens bound to their sender and address, everything sealed anew
// while it is in use. Real: Redis, producer, worker, simulator, command line.
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findSender, replaceToken, type Sender, tokenContextOf } from '../../src/accounts/senders.ts'
import { createSeal, SealError } from '../../src/kernel/seal.ts'
import { laneCooldown } from '../../src/lanes/cooldown.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { runCli } from '../support/cli.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

const OLD = 'the old key of this installation is long enough'
const NEW = 'the new key of this installation is long enough'
const THIRD = 'a key that this installation never had at all'

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService({ env: { LANEWAY_SECRET_KEYS: `${OLD},${NEW}` } })
  tenant = await service.addTenant()
})
afterAll(() => service?.close())

async function senderOf(lane: number): Promise<Sender> {
  const sender = await findSender(service.redis, lane)
  if (sender === undefined) throw new Error(`no sender ${lane}`)
  return sender
}

const rotate = (keys: string) =>
  runCli(['secrets', 'rotate', '--json'], {
    ...service.settings,
    LANEWAY_SECRET_KEYS: keys,
  })

describe('a sealed token', () => {
  const place = { sender: 1, baseUrl: 'https://provider.example' }
  const sealed = createSeal([OLD]).encrypt('token')(place)

  test('opens with any of the keys, at its own sender and address', () => {
    expect(createSeal([NEW, OLD]).decrypt(sealed, place)).toBe('token')
    expect(createSeal([NEW, OLD]).isFresh(sealed)).toBe(false)
    expect(createSeal([OLD, NEW]).isFresh(sealed)).toBe(true)
  })

  test.each([
    ['without its key', [NEW], place],
    ['at another address', [OLD], { ...place, baseUrl: 'https://evil.example' }],
    ['for another sender', [OLD], { ...place, sender: 2 }],
    ['as a webhook secret', [OLD], { account: 1, name: 'https://provider.example' }],
  ])('does not open %s', (_how, keys, where) => {
    expect(() => createSeal(keys).decrypt(sealed, where)).toThrow(SealError)
  })

  test.each(['', 'v2.', sealed.slice(0, -4), sealed.slice(12), `${sealed.slice(0, 12)}AAAA`])(
    'that is damaged (%#) does not open',
    (damaged) => {
      expect(() => createSeal([OLD]).decrypt(damaged, place)).toThrow(SealError)
    },
  )

  test('that is bound to no sender and address does not open', () => {
    const nonce = randomBytes(12)
    const key = Buffer.from(hkdfSync('sha256', OLD, '', 'laneway provider token', 32))
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    const body = Buffer.concat([cipher.update('token', 'utf8'), cipher.final()])
    const unbound = Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    expect(() => createSeal([OLD]).decrypt(unbound, place)).toThrow(SealError)
    expect(() => createSeal([OLD]).decrypt(`${sealed.slice(0, 12)}${unbound}`, place)).toThrow(SealError)
  })
})

test('a token is not sent to another address that somebody writes into Redis', async () => {
  const victim = await service.addTenant()
  const { base_url } = await senderOf(victim.partnerLane)
  let stolen = 0
  const thief = createServer((_request, response) => {
    stolen += 1
    response.end('{}')
  })
  const port = await listen(thief)
  await senderRecord(service.redis, victim.partnerLane).change({ base_url: `http://127.0.0.1:${port}` })
  const id = await sendTo(service, victim, '491700000001')
  const cooldown = await eventually(
    () => laneCooldown(service.redis, victim.partnerLane, Date.now()),
    'the lane waits, because the token of its sender does not open',
  )
  expect(cooldown.code).toBe('sender_unreadable')
  await senderRecord(service.redis, victim.partnerLane).change({ base_url: base_url })
  await reaches(service, victim, id, 'read')
  expect(stolen).toBe(0)
  thief.close()
})

test('an id signed by an older key is still verified, and one signed by a foreign key is not', () => {
  const signed = createOpaqueIds([OLD]).sign('msg_1_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'AAAAAA')
  expect(createOpaqueIds([NEW, OLD]).verify(signed)).toEqual({
    id: 'msg_1_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    attempt: 'AAAAAA',
  })
  expect(createOpaqueIds([NEW]).verify(signed)).toBeUndefined()
  expect(createOpaqueIds([NEW, OLD]).sign('msg_1_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'AAAAAA')).not.toBe(signed)
})

describe('secrets rotate', () => {
  test('reseals every token under the first key, counts them, and has nothing to do the second time', async () => {
    const place = tokenContextOf(await senderOf(tenant.cloudLane))
    const token = createSeal([OLD]).encrypt('from long ago')(place)
    await senderRecord(service.redis, tenant.cloudLane).change({ token })
    const first = await rotate(`${NEW},${OLD}`)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const { sealed, fresh } = JSON.parse(first.stdout)
    expect([sealed > 1, fresh]).toEqual([true, 0])
    expect(JSON.parse((await rotate(`${NEW},${OLD}`)).stdout)).toEqual({ sealed: 0, fresh: sealed })

    const withoutOld = createSeal([NEW])
    const partner = await senderOf(tenant.partnerLane)
    const cloud = await senderOf(tenant.cloudLane)
    expect(withoutOld.decrypt(partner.token, tokenContextOf(partner))).toBe('token')
    expect(withoutOld.decrypt(cloud.token, tokenContextOf(cloud))).toBe('from long ago')
    // The worker has had both keys all the time.
    await reaches(service, tenant, await sendTo(service, tenant, '491700000001'), 'read')
  })

  test('names the token that no key opens, seals the others, and fails', async () => {
    const place = tokenContextOf(await senderOf(tenant.cloudLane))
    await senderRecord(service.redis, tenant.cloudLane).change({ token: createSeal([THIRD]).encrypt('lost')(place) })
    const run = await rotate(`${OLD},${NEW}`)
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`1 cannot be opened (sender ${tenant.cloudLane})`),
    })
    expect(createSeal([OLD, NEW]).isFresh((await senderOf(tenant.partnerLane)).token)).toBe(true)
  })

  test('names a sender whose record cannot be read, and seals tokens of the others', async () => {
    const other = await service.addTenant()
    const lane = senderRecord(service.redis, other.partnerLane)
    const { account } = await lane.fields()
    await lane.change({ account: 'nobody' })
    const run = await rotate(`${NEW},${OLD}`)
    expect(run.code).toBe(1)
    expect(run.stderr).toContain(`sender ${other.partnerLane}`)
    expect(createSeal([NEW, OLD]).isFresh((await senderOf(tenant.partnerLane)).token)).toBe(true)
    // A command for another sender is not concerned, and one for this sender says so.
    const env = { ...service.settings, LANEWAY_SECRET_KEYS: OLD }
    const pause = (sender: number) => runCli(['lanes', 'pause', String(sender)], env)
    expect(await pause(other.cloudLane)).toMatchObject({ code: 0 })
    expect(await pause(other.partnerLane)).toMatchObject({ code: 1, stderr: expect.stringContaining('is broken') })
    await lane.change({ account: account ?? '' })
  })

  test('does not undo a token that is renewed at the same moment', async () => {
    const read = await senderOf(tenant.partnerLane)
    const env = { ...service.settings, LANEWAY_SECRET_KEYS: OLD }
    await runCli(['senders', 'renew', String(read.id), '--token', '-'], env, 'renewed')
    const sealed = createSeal([OLD]).encrypt('token')(tokenContextOf(read))
    expect(await replaceToken(service.redis, read, sealed)).toBe(false)
    const after = await senderOf(read.id)
    expect(createSeal([OLD]).decrypt(after.token, tokenContextOf(after))).toBe('renewed')
  })
})
