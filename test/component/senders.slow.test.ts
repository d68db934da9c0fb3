// Pins: a number has one lane, however many people add it at once and wherever a command dies; and a sender that has
// nothing to do can be removed, which frees its number and forgets no message. Real: Redis, producer, worker, simulator.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender, type NewSender, SenderTakenError } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { retainedLanes } from '../../src/accounts/retained-lanes.ts'
import { defaultSender, listSenders, senderNamed, senderOfPhoneNumberId } from '../../src/accounts/senders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { createCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { runCli } from '../support/cli.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { interceptCommands } from '../support/redis.ts'
import { type Service, startService } from '../support/service.ts'
import { ownerOfNumber, sendersLock } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let redis: Redis
beforeAll(async () => {
  service = await startService()
  redis = service.redis
})
afterAll(() => service?.close())

const cli = (...words: string[]) => runCli(words, service.settings)

let numbers = 0

async function newSender(account: number, more: Partial<NewSender> = {}): Promise<NewSender> {
  numbers += 1
  return {
    account,
    number: String(447_700_900_000 + numbers),
    name: '',
    provider: 'partner-api',
    baseUrl: service.simulator.url,
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('token'),
    phoneNumberId: '',
    rate: 1_000,
    honoursIdempotency: false,
    isDefault: false,
    ...more,
  }
}

const twoAccounts = async () => [await createAccount(redis, 'one'), await createAccount(redis, 'two')] as const

test.each<[string, Partial<NewSender>]>([
  ['number', { number: '447700999001' }],
  ['phoneNumberId', { provider: 'cloud-api', phoneNumberId: '777001' }],
])('a %s that a sender of another account has is refused, with that sender', async (what, same) => {
  const [one, two] = await twoAccounts()
  const id = await addSender(redis, await newSender(one, same))
  const refusal = await addSender(redis, await newSender(two, same)).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(SenderTakenError)
  expect(refusal).toMatchObject({ what, holder: { id, account: one } })
  expect(await listSenders(redis, two)).toEqual([])
})

test('a name is unique only within its account', async () => {
  const [one, two] = await twoAccounts()
  await addSender(redis, await newSender(one, { name: 'shop' }))
  await addSender(redis, await newSender(two, { name: 'shop' }))
  await expect(addSender(redis, await newSender(two, { name: 'shop' }))).rejects.toMatchObject({ what: 'name' })
})

test('of many who add one number at the same time one gets it', async () => {
  const accounts = await twoAccounts()
  const connections = Array.from({ length: 8 }, () => connectWithRetry(service.server.url))
  const common = await newSender(0, { number: '447700999002', provider: 'cloud-api', phoneNumberId: '777002' })
  const ends = await Promise.allSettled(
    connections.map((own, i) => addSender(own, { ...common, account: accounts[i % 2] ?? 0 })),
  )
  for (const own of connections) own.disconnect()
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const senders = (await Promise.all(accounts.map((account) => listSenders(redis, account)))).flat()
  expect(senders).toHaveLength(1)
  expect(await senderOfPhoneNumberId(redis, '777002')).toEqual(senders[0])
})

/** A connection that is lost for good after so many commands. */
async function dyingAfter(commands: number): Promise<Redis> {
  const own = connectWithRetry(service.server.url)
  await own.ping()
  let left = commands
  interceptCommands(own, (send) => {
    left -= 1
    return left < 0 ? Promise.reject(new Error('Connection is closed.')) : send()
  })
  return own
}

test('adding a sender survives a crash at any command: it is added, or can be added again', async () => {
  for (let commands = 1, died = true; died; commands += 1) {
    const account = await createAccount(redis, 'crash')
    const sender = await newSender(account, { name: 'shop', provider: 'cloud-api', phoneNumberId: `778${numbers}` })
    const dying = await dyingAfter(commands)
    died = await addSender(dying, sender).then(
      () => false,
      () => true,
    )
    dying.disconnect()
    // As it does by itself when its holder has died.
    await sendersLock(redis).remove()
    const wasAdded = (await listSenders(redis, account)).length === 1
    if (!wasAdded) await addSender(redis, sender)
    const [only, ...others] = await listSenders(redis, account)
    expect(others, `after ${commands} commands`).toEqual([])
    expect(await senderNamed(redis, account, { digits: sender.number })).toEqual(only)
    expect(await senderNamed(redis, account, { name: 'shop' })).toEqual(only)
    expect(await senderOfPhoneNumberId(redis, sender.phoneNumberId)).toEqual(only)
    expect(await defaultSender(redis, account)).toEqual(only)
    if (commands === 1) expect(wasAdded).toBe(false)
  }
})

test('a process that holds the lock for too long adds nothing', async () => {
  const [account] = await twoAccounts()
  const sender = await newSender(account)
  const slow = connectWithRetry(service.server.url)
  const hset = slow.hset.bind(slow)
  // Somebody else has got the lock in the meantime, as after this process was frozen.
  Reflect.set(slow, 'hset', async (...args: Parameters<typeof hset>) => {
    await sendersLock(redis).put('another', 3_600_000)
    return hset(...args)
  })
  await expect(addSender(slow, sender)).rejects.toThrow(/nothing was changed/)
  slow.disconnect()
  expect(await listSenders(redis, account)).toEqual([])
  expect(await sendersLock(redis).value()).not.toBeNull()
  await sendersLock(redis).remove()
  await addSender(redis, sender)
})

test('a number freed by a removal that died is refused while its sender still exists', async () => {
  const [one, two] = await twoAccounts()
  const id = await addSender(redis, await newSender(one, { number: '447700999003' }))
  await ownerOfNumber(redis, '447700999003').remove()
  const run = await cli(
    ...['senders', 'add', '--account', String(two), '--number', '+447700999003', '--provider', 'partner-api'],
    ...['--base-url', 'http://127.0.0.1:9', '--token', 'hush'],
  )
  expect(run).toMatchObject({
    code: 1,
    stderr: `error: --number: belongs to sender ${id} of account ${one}. [sender_taken]\n`,
  })
})

test('an idle sender is removed: its number is free, and its messages can still be looked up', async () => {
  const tenant = await service.addTenant()
  const id = await sendTo(service, tenant, '+491700000900')
  await reaches(service, tenant, id, 'read')
  const removed = await cli('senders', 'remove', String(tenant.partnerLane), '--json')
  expect(removed).toMatchObject({ code: 0, stderr: '' })
  expect((await listSenders(redis, tenant.account)).map((sender) => sender.id)).toEqual([tenant.cloudLane])
  expect(await defaultSender(redis, tenant.account)).toBeUndefined()
  expect((await deliveryOf(service, tenant, id)).status).toBe('read')
  expect(await retainedLanes(redis, tenant.account)).toContain(tenant.partnerLane)

  const again = await createAccount(redis, 'the right one')
  const lane = await addSender(redis, await newSender(again, { number: tenant.partnerNumber }))
  expect(lane).not.toBe(tenant.partnerLane)
  const { secret } = await createCredential(redis, again, ['messages:send', 'messages:read'], Date.now())
  const other = await sendTo(service, { apiKey: secret }, '+491700000901')
  await reaches(service, { apiKey: secret }, other, 'read')
  // Again changes nothing, of the one that has the number now neither.
  expect(await cli('senders', 'remove', String(tenant.partnerLane))).toMatchObject({ code: 0, stderr: '' })
  expect(await senderNamed(redis, again, { digits: tenant.partnerNumber })).toMatchObject({ id: lane })
  expect((await cli('senders', 'remove', '4711')).stderr).toContain('The sender does not exist: 4711')
})

test('a sender with waiting messages is not removed, and goes on', async () => {
  const tenant = await service.addTenant()
  await cli('lanes', 'pause', String(tenant.partnerLane), '--reason', 'a test')
  const id = await sendTo(service, tenant, '+491700000902')
  const refused = await cli('senders', 'remove', String(tenant.partnerLane))
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('1 of its messages') })
  await cli('lanes', 'resume', String(tenant.partnerLane))
  await reaches(service, tenant, id, 'read')
})

test('a sender with a message that arrives during its removal stays', async () => {
  const tenant = await service.addTenant()
  await cli('lanes', 'pause', String(tenant.partnerLane), '--reason', 'a test')
  // Makes this producer know the sender, so that it takes one more message.
  let isOver = false
  const removing = cli('senders', 'remove', String(tenant.partnerLane)).finally(() => {
    isOver = true
  })
  const queued = (async () => {
    // From its lock on. A machine that stands still may see the lock never.
    await eventually(async () => isOver || (await sendersLock(redis).isThere()), 'it is being removed')
    return sendTo(service, tenant, '+491700000903')
  })()
  const [run, id] = await Promise.all([removing, queued.catch(() => undefined)])
  if (id === undefined) return
  expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('1 of its messages') })
  await cli('lanes', 'resume', String(tenant.partnerLane))
  await reaches(service, tenant, id, 'read')
  expect(await defaultSender(redis, tenant.account)).toMatchObject({ id: tenant.partnerLane })
})

test('a sender with a campaign that has not ended is not removed', async () => {
  const tenant = await service.addTenant()
  const definition = {
    sender: 'partner',
    template: { name: 'hi', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  const campaign = { account: tenant.account, lane: tenant.partnerLane, definition }
  const id = await createCampaign(redis, campaign, Date.now())
  expect(await cli('senders', 'remove', String(tenant.partnerLane))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is draft; cancel it first'),
  })
  await moveCampaign(redis, id, 'cancel', 1_000_000)
  expect(await cli('senders', 'remove', String(tenant.partnerLane))).toMatchObject({ code: 0 })
})
