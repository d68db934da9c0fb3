// Pins: whatever the version before left behind is read, sent and finished by this one, and nobody gets it twice
// without a flag. What it left is test/fixtures/upgrade, whose README says how it was made. The tests tell one story, in
// the order in which an update runs: the producer comes first, then a worker, then a person resumes what was stopped.
// Real: Redis, producer and worker as processes, the command line. Stood in for: the chat product.
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FORMER_INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { intakeQueue } from '../support/state/queues.ts'
import { named, recipientsOf, startUpgraded, sumOf, type Upgraded } from '../support/upgraded.ts'
import { eventually } from '../support/wait.ts'

vi.setConfig({ testTimeout: 150_000, hookTimeout: 120_000 })

const GALLERY = '/partners/wp-gallery/manage'
/** States of a message that the chat product has. */
const SENT = ['sent', 'delivered', 'read']
/** Two messages of the fixture have one recipient, who rests when it is loaded. */
const TO_ONE = 'to a resting recipient'

let laneway: Upgraded
beforeAll(async () => {
  laneway = await startUpgraded()
})
afterAll(() => laneway?.close())

test('before a worker runs, both lookups answer for every message as they did before', async () => {
  const { expected, infoOf, deliveryOf } = laneway
  const different: string[] = []
  for (const message of expected.messages) {
    const now = { info: await infoOf(message), delivery: await deliveryOf(message) }
    const before = { info: message.info, delivery: message.delivery }
    if (isDeepStrictEqual(now, before)) continue
    different.push(`${named(message)}: ${JSON.stringify(now)}, before ${JSON.stringify(before)}`)
  }
  expect(different).toEqual([])
})

test('keys open what they opened, and expired and revoked ones nothing', async () => {
  const { expected, request, which } = laneway
  const path = '/chatappbusiness/getmessgageinfobyid'
  const statusWith = async (key: string) =>
    (await request('POST', path, { api_key: key, message_id: which('same')[0]?.id })).status
  const { key, expired_key, revoked_key } = expected.accounts.harbour
  expect([await statusWith(key), await statusWith(expired_key), await statusWith(revoked_key)]).toEqual([200, 401, 401])
})

test('policies have their present names and mean what they meant', async () => {
  const policies = (await laneway.cli('accounts', 'list')).map((account: Record<string, string>) => [
    account.name,
    account['policy.transactional'],
    account['policy.campaign'],
  ])
  expect(policies).toEqual([
    ['Harbour', 'at_least_once', 'at_least_once'],
    ['Quay', 'at_most_once', 'at_most_once'],
    ['Pier', 'at_least_once', 'at_most_once'],
  ])
})

test('lanes are paused as they were, for the reasons that they had', async () => {
  const paused = (await laneway.cli('lanes', 'list'))
    .filter((lane: { paused: boolean }) => lane.paused)
    .map((lane: Record<string, unknown>) => [lane.name, lane.paused_for])
  expect(paused).toEqual([
    ['closed', 'stock-taking'],
    ['blocked', expect.stringContaining('190')],
  ])
})

test('campaigns show what they showed', async () => {
  const { expected, show } = laneway
  for (const [name, { id, told }] of Object.entries(expected.campaigns)) {
    const { state, reason, progress } = await show(id)
    const { total, read, failed } = told.progress
    expect({ state, reason, total: progress.total, read: progress.read, failed: progress.failed }, name).toEqual({
      ...{ state: told.state, reason: told.reason, total, read, failed },
    })
    expect(sumOf(progress), name).toBe(total)
  }
})

test('a request with a key of before gets the answer of before', async () => {
  const { expected, request, keyOf } = laneway
  for (const { account, path, key, body, answer } of expected.idempotency) {
    const isBatch = path === '/messages/batch'
    const headers = { 'idempotency-key': key, ...(isBatch && { authorization: `Bearer ${keyOf(account)}` }) }
    const now = await request('POST', path, isBatch ? body : { ...body, api_key: keyOf(account) }, headers)
    expect(now.json(), `${path} ${key}`).toEqual(answer)
  }
})

test('a received message is found', async () => {
  const info = await laneway.infoOf({ account: 'harbour', id: laneway.expected.inbound })
  expect(info).toMatchObject({ direction: 'inbound', message_text: 'Hi', message_type: 'text' })
})

test('gallery and contacts are there, and a file of the trash can be restored', async () => {
  const { asHarbour, request, keyOf, campaign, expected } = laneway
  const { folders, files, listed } = expected.gallery
  const inList = (list: { id: number; name: string }[]) => list.map(({ id, name }) => [id, name])
  const now = async (path: string) => inList((await asHarbour('GET', GALLERY + path)).json().data)
  expect(await now('/folders')).toEqual(inList(listed.folders ?? []))
  expect(await now(`/files?folder_id=${folders.spring}`)).toEqual(inList(listed.spring ?? []))
  expect(await now('/files?trash=true')).toEqual(inList(listed.trash ?? []))
  const restored = await asHarbour('POST', `${GALLERY}/files/${files.in_trash}/restore`)
  const { url, folder_id } = restored.json().data
  expect(folder_id).toBe(folders.autumn)
  expect(await (await fetch(url)).text()).toBe('Closed.')

  const body = { api_key: keyOf('harbour'), tags: [expected.tag] }
  const contacts = await request('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', body)
  const phones = contacts.json().data.map(({ phone }: { phone: string }) => phone.replace(/\D/g, ''))
  expect(phones.sort()).toEqual([...campaign('done').recipients].sort())
})

test('a worker starts, and every message that waited leaves once', async () => {
  const { start, which, areNot, didNotGet } = laneway
  const worker = start('worker')
  await eventually(async () => worker.stdout().includes('worker.started'), 'the worker starts', 60_000)
  const waiting = which('sent')
  expect(await areNot(SENT, waiting)).toEqual([])
  const toOne = waiting.filter(({ what }) => what === TO_ONE)
  const others = waiting.filter(({ what }) => what !== TO_ONE)
  expect(await didNotGet(1, recipientsOf(others), 'both')).toEqual([])
  expect(await didNotGet(toOne.length, recipientsOf(toOne), 'both')).toEqual([])
})

test('what was sent, had ended or is too late does not leave again', async () => {
  const { which, areNot, didNotGet, deliveryOf } = laneway
  expect(await areNot(['expired'], which('expired'))).toEqual([])
  const over = which('same', 'expired')
  expect(await didNotGet(0, recipientsOf(over), 'this version')).toEqual([])
  for (const message of over) {
    expect((await deliveryOf(message)).status, named(message)).toBe(message.delivery.status)
  }
})

test('attempts that nobody heard the end of are decided as the policy of their account says', async () => {
  const { which, areNot, didNotGet, cli } = laneway
  expect(await areNot(SENT, which('repeated'))).toEqual([])
  expect(await didNotGet(1, recipientsOf(which('repeated')), 'this version')).toEqual([])
  for (const { id } of which('repeated')) {
    expect(await cli('messages', 'show', id)).toMatchObject({ id, possible_duplicate: true })
  }
  expect(await areNot(['unknown'], which('unknown'))).toEqual([])
  expect(await didNotGet(0, recipientsOf(which('unknown')), 'this version')).toEqual([])
})

test('status polls go on', async () => {
  const { which, areNot, didNotGet } = laneway
  expect(await areNot(['read'], which('polled'))).toEqual([])
  expect(await didNotGet(0, recipientsOf(which('polled')), 'this version')).toEqual([])
})

test('jobs of other services are answered, and the answers of before are kept', async () => {
  const { expected, server, campaign, areNot, didNotGet } = laneway
  const { sends, refused, create, show, start, wrong_key } = expected.jobs
  const intake = intakeQueue(server.url, FORMER_INTAKE_QUEUE)
  try {
    const ended = (id: string) =>
      eventually(async () => {
        const job = await intake.getJob(id)
        return job?.finishedOn === undefined ? undefined : { answer: job.returnvalue, reason: job.failedReason ?? '' }
      }, `job ${id} ends`)
    for (const { what, id, to } of sends) {
      const { answer, reason } = await ended(id)
      expect(reason, what).toBe('')
      const message = { account: 'harbour', id: String(answer.message_id), to, what } as const
      expect(await areNot(SENT, [message])).toEqual([])
      expect(await didNotGet(1, recipientsOf([message]), 'both')).toEqual([])
    }
    expect((await ended(create)).answer).toMatchObject({ state: 'draft' })
    expect((await ended(show)).answer).toMatchObject({ id: campaign('done').id, state: 'done' })
    expect((await ended(start)).answer).toMatchObject({ state: 'running' })
    expect(JSON.parse((await ended(refused)).reason)).toMatchObject({ code: 'invalid_request' })
    expect(JSON.parse((await ended(wrong_key)).reason)).toMatchObject({ code: 'unauthorized' })
    const { done, refused: before } = expected.answered
    expect((await ended(done.id)).answer).toEqual(done.answer)
    expect((await ended(before.id)).reason).toBe(before.reason)
  } finally {
    await intake.close()
  }
})

test('a bulk move that waited is done', async () => {
  const { asHarbour, expected } = laneway
  const { move, files, folders } = expected.gallery
  const status = async () => (await asHarbour('GET', `${GALLERY}/jobs/${move}`)).json().data.status
  await eventually(async () => (await status()) === 'done', 'the move is done')
  const inAutumn = (await asHarbour('GET', `${GALLERY}/files?folder_id=${folders.autumn}`)).json().data
  expect(inAutumn.map(({ id }: { id: number }) => id)).toContain(files.pixel)
})

test.each(['running', 'scheduled', 'ready'])('the campaign "%s" reaches everybody, once or flagged', async (name) => {
  const progress = await laneway.reaches(name, 'done')
  expect(sumOf(progress)).toBe(laneway.campaign(name).recipients.length)
  expect(await laneway.wrongIn(name)).toEqual([])
})

test('a campaign that was being checked is ready', async () => {
  expect(await laneway.reaches('checking', 'ready')).toMatchObject({ total: 3, queued: 3 })
})

test.each([
  ['draft', 'draft'],
  ['blocked', 'blocked'],
  ['cancelled draft', 'cancelled'],
  ['done', 'done'],
  ['done again', 'done'],
  ['paused', 'paused'],
  ['checking', 'ready'],
])('the campaign "%s" sends nothing by itself and is %s', async (name, state) => {
  const { show, campaign, didNotGet } = laneway
  expect((await show(campaign(name).id)).state).toBe(state)
  const recipients = new Map(campaign(name).recipients.map((to) => [to, name]))
  expect(await didNotGet(0, recipients, 'this version')).toEqual([])
})

test('a cancelled campaign sends nothing more, and nothing of it stays open', async () => {
  const { campaign, show, didNotGet } = laneway
  const { id, recipients } = campaign('cancelled')
  const settled = async () => {
    const { progress } = await show(id)
    if (progress.queued === 0 && progress.sending === 0 && progress.unconfirmed === 0) return progress
    throw new Error(JSON.stringify(progress))
  }
  expect(sumOf(await eventually(settled, 'nothing of it is open', 60_000))).toBe(recipients.length)
  expect(await didNotGet(0, new Map(recipients.map((to) => [to, 'cancelled'])), 'this version')).toEqual([])
})

test('a paused campaign that is resumed reaches the rest', async () => {
  const { asHarbour, campaign, reaches, wrongIn } = laneway
  expect((await asHarbour('POST', `/campaigns/${campaign('paused').id}/resume`, {})).status).toBe(200)
  expect(sumOf(await reaches('paused', 'done'))).toBe(campaign('paused').recipients.length)
  expect(await wrongIn('paused')).toEqual([])
})

test('what waited on a paused lane leaves once when the lane is resumed', async () => {
  const { expected, which, areNot, didNotGet, cli } = laneway
  expect(await didNotGet(0, recipientsOf(which('held')), 'this version')).toEqual([])
  const { closed, blocked } = expected.accounts.harbour.senders
  for (const sender of [closed, blocked]) await cli('lanes', 'resume', String(sender?.lane))
  expect(await areNot(SENT, which('held'))).toEqual([])
  expect(await didNotGet(1, recipientsOf(which('held')), 'both')).toEqual([])
})

test('when all is over nobody has got a message more often than it may', async () => {
  const { expected, which, sent: everything, times } = laneway
  const sent = await everything()
  const mayRepeat = new Set(which('repeated').map(({ to }) => to))
  const ofCampaigns = new Set(Object.values(expected.campaigns).flatMap(({ recipients }) => recipients))
  const tooOften = [...new Set(sent)]
    .filter((to) => !mayRepeat.has(to) && !ofCampaigns.has(to))
    .filter((to) => times(to, sent) > Math.max(1, expected.messages.filter((each) => each.to === to).length))
    .map((to) => `${expected.messages.find((each) => each.to === to)?.what ?? to}: ${times(to, sent)}`)
  // Its first attempt went out unheard before the fixture was made, and was repeated there, flagged.
  expect(tooOften).toEqual(['repeated by default: 2'])
})
