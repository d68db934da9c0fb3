// Pins how the command line reads times: one rule for all verbs, in the zone that is named.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { DAY_MS, HOUR_MS } from '../../src/kernel/time-units.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'

let service: CampaignService
let queues: LaneQueues
beforeAll(async () => {
  service = await startCampaigns()
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const cli = (...words: string[]) => runCli(words, service.settings)

async function listed(...options: string[]): Promise<string[]> {
  const run = await cli('messages', 'list', '--sender', service.tenant.partnerNumber, '--json', ...options)
  expect(run).toMatchObject({ code: 0, stderr: '' })
  const shown = z.object({ data: z.array(z.object({ id: z.string() })) })
  return shown.parse(JSON.parse(run.stdout)).data.map(({ id }) => id)
}

test('messages are listed since a time, a day, a day by its name and so long ago', async () => {
  const acceptedAt = Date.now() - 2 * DAY_MS
  const id = messageId(service.tenant.partnerLane, newUlid(acceptedAt))
  const content = { type: 'text', text: { body: 'Hi' } } as const
  const until = Date.now() + HOUR_MS
  await queues.add(id, { v: 1, to: '491700000001', class: 'transactional', content, until }, DAY_MS)
  const day = new Date(acceptedAt).toISOString().slice(0, 10)
  for (const since of ['49h', '3d', day, `${day}T00:00:00Z`, `${day}T00:00`]) {
    expect(await listed('--since', since, '--zone', 'UTC'), since).toEqual([id])
  }
  for (const since of ['47h', 'yesterday', 'today']) {
    expect(await listed('--since', since, '--zone', 'UTC'), since).toEqual([])
  }
  expect(await listed('--until', 'yesterday', '--zone', 'UTC')).toEqual([id])
})

test('figures are shown since a time as well as for so long', async () => {
  for (const since of ['2h', new Date(Date.now() - 2 * HOUR_MS).toISOString()]) {
    const run = await cli('stats', '--since', since, '--json')
    const { from, to } = z.object({ from: z.iso.datetime(), to: z.iso.datetime() }).parse(JSON.parse(run.stdout))
    expect(Math.abs(Date.parse(to) - Date.parse(from) - 2 * HOUR_MS), since).toBeLessThan(HOUR_MS / 4)
  }
})

test('a campaign is scheduled for an hour of the zone that is named', async () => {
  const { tag } = await service.addPeople(1)
  const id = await service.ready({ tags: [tag] })
  const run = await cli('campaigns', 'schedule', id, '2999-06-01T09:00', '--zone', 'Europe/Berlin', '--json')
  expect(documentIn(run.stdout)).toMatchObject({ state: 'scheduled', scheduled_at: '2999-06-01T07:00:00.000Z' })
})

test.each([
  [['messages', 'list', '--since', 'last week'], '--since: expected a time such as'],
  [['messages', 'list', '--since', '2026-02-30'], 'got "2026-02-30"'],
  [['stats', '--since', '0h'], '--since: expected a time such as'],
  [
    ['messages', 'list', '--since', 'today', '--zone', 'Mars'],
    '--zone: expected a zone such as Europe/Berlin, got "Mars".',
  ],
  [['lanes', 'list', '--zone', 'UTC'], "unknown option '--zone'"],
])('%j is wrong usage', async (words, sentence) => {
  const run = await cli(...words)
  expect(run.code).toBe(2)
  expect(run.stderr).toContain(sentence)
})
