// Pins: a campaign that is run again says whom it skips and why before it sends anything, has a name of its own, and is
// named in the activity with the class that it repeats.
// Real: Redis, HTTP, producer, worker, command line. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns()
})
afterAll(() => service?.close())

/** Of the simulator: not allowed, not deliverable, and has had enough marketing. */
const [REFUSED, UNDELIVERABLE, CAPPED] = ['15550100105', '15550100201', '15550100206']

const cli = (...words: string[]) => runCli(['campaigns', ...words], service.settings)

const campaigns = async () =>
  z
    .object({ data: z.array(z.object({ id: z.string(), name: z.string().nullable() })) })
    .parse((await service.request('GET', '/campaigns')).json()).data

/** A campaign whose message to each of these people failed. */
async function failed(people: readonly string[], name?: string): Promise<string> {
  const id = await service.create({ rows: {} }, { ...(name !== undefined && { name }) })
  await service.upload(id, `phone,name\n${people.map((phone) => `${phone},Ann\n`).join('')}`)
  await service.checked(id)
  await service.move(id, 'start')
  await eventually(async () => {
    const { state, progress } = await service.show(id)
    return state === 'done' && progress.failed === people.length
  }, 'all failed')
  return id
}

const activitySchema = z.object({
  data: z.array(z.looseObject({ action: z.string(), target: z.string().nullable(), detail: z.string().nullable() })),
})

/** What was resumed, the latest first. */
async function resumed() {
  const admin = await service.tenant.key('admin')
  const answer = await service.request('GET', '/admin/activity', undefined, admin)
  return activitySchema
    .parse(answer.json())
    .data.flatMap(({ action, target, detail }) => (action === 'campaign.resume' ? [{ target, detail }] : []))
}

test('a dry run reports whom a run reaches and whom it skips and why, over HTTP and on the command line, and makes nothing', async () => {
  const id = await failed([REFUSED, UNDELIVERABLE, CAPPED], 'Black Friday')
  const writer = await service.tenant.key('contacts:write')
  const added = await service.request('POST', '/opt-outs', { person: `+${UNDELIVERABLE}` }, writer)
  expect(added.status, added.text).toBeLessThan(300)
  const before = await campaigns()
  const plan = {
    ...{
      class: 'failed',
      matched: 3,
      complete: true,
      recipients: 1,
      skipped_capped: 1,
      skipped_erased: 0,
      problems: [],
      earlier: null,
    },
    refused: { duplicate: 0, number: 0, parameter: 0, unreadable: 0, opted_out: 1 },
  }
  const dry = await service.request('POST', `/campaigns/${id}/resume`, { class: 'failed', dry_run: true })
  expect(dry.status, dry.text).toBe(200)
  expect(dry.json().data).toEqual(plan)
  const typed = await cli('resume', id, '--class', 'failed', '--dry-run', '--json')
  expect(documentIn(typed.stdout)).toEqual(plan)
  const said = await cli('resume', id, '--class', 'failed', '--dry-run')
  expect(said.stdout).toContain('1 of the 3 that are failed would get a message')
  expect(said.stdout).toContain('1 who have had enough marketing, 1 who want no advertising. Nothing was sent.')
  expect(await campaigns()).toEqual(before)
  expect(await resumed()).toEqual([])

  const nobody = await service.request('POST', `/campaigns/${id}/resume`, { class: 'expired', dry_run: true })
  expect([nobody.status, nobody.json().error.code]).toEqual([422, 'nobody_in_class'])
  const whole = await service.request('POST', `/campaigns/${id}/resume`, { dry_run: true })
  expect([whole.status, whole.json().error.details[0].path]).toEqual([400, 'class'])
  expect(await cli('resume', id, '--dry-run')).toMatchObject({ code: 2, stdout: '' })
})

test('a run has the name of the first with a number, and the activity lists class and run', async () => {
  const id = await failed([REFUSED], 'Cyber Monday')
  const named = async (of: string) => (await campaigns()).find((each) => each.id === of)?.name
  const second = await service.move(id, 'resume', { class: 'failed' })
  expect(await named(second.id)).toBe('Cyber Monday (run 2)')
  expect((await resumed())[0]).toEqual({ target: id, detail: `the failed again, as ${second.id}` })
  await service.reaches(second.id, 'done')
  expect((await service.show(second.id)).preflight).toMatchObject({ recipients: 1 })

  // A run of a run, and another one of the first, count on.
  const third = await service.move(second.id, 'resume', { class: 'failed' })
  expect(await named(third.id)).toBe('Cyber Monday (run 3)')
  const typed = await cli('resume', id, '--class', 'failed', '--yes', '--json')
  const fourth = z.object({ id: z.string() }).parse(documentIn(typed.stdout))
  expect(await named(fourth.id)).toBe('Cyber Monday (run 4)')
  expect((await resumed())[0]).toEqual({ target: id, detail: `the failed again, as ${fourth.id}` })
})

test('a name too long for the number of the run is cut between characters', async () => {
  const id = await failed([REFUSED], `${'x'.repeat(246)}🎉`)
  const run = await service.move(id, 'resume', { class: 'failed' })
  expect((await campaigns()).find((each) => each.id === run.id)?.name).toBe(`${'x'.repeat(246)} (run 2)`)
})

const runSchema = z.object({ data: z.object({ id: z.string(), name: z.string() }) })

test('a run of a campaign without a name is named after its id, and one key makes only one run', async () => {
  const id = await failed([REFUSED])
  const once = () =>
    service.tenant.api
      .post(`/campaigns/${id}/resume`, { class: 'failed' }, { 'idempotency-key': 'run it once' })
      .then(({ json }) => runSchema.parse(json))
  const [one, other] = [await once(), await once()]
  expect(one.data.name).toBe(`${id} (run 2)`)
  expect(other.data.id).toBe(one.data.id)
})

test('people whom a cancelled run of possible duplicates never reached get possible duplicates from the next run as well', async () => {
  const id = await service.create({ rows: {} })
  // Taken, and nothing more is said of it.
  await service.upload(id, 'phone,name\n15550100404,Ann\n')
  await service.checked(id)
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  await eventually(async () => (await service.show(id)).progress.sent === 1, 'it is sent')

  const queues = openLaneQueues(service.redis)
  await pauseLane(service.redis, queues, service.lane, { reason: 'nothing of the run leaves', by: 'Jo' })
  const second = await service.move(id, 'resume', { class: 'not_delivered' })
  await service.reaches(second.id, 'running')
  await service.move(second.id, 'cancel')
  await resumeLane(service.redis, queues, service.lane)
  await queues.close()
  await eventually(async () => (await service.show(second.id)).progress.cancelled === 1, 'it is cancelled')

  const third = await service.move(second.id, 'resume', { class: 'cancelled' })
  await service.reaches(third.id, 'done')
  const line = (await service.request('GET', `/campaigns/${third.id}/export?format=ndjson`)).text
  expect(JSON.parse(line)).toMatchObject({ recipient: '15550100404', possible_duplicate: 'yes' })
})
