// Pins: a figure of the console is the one of HTTP and the command line, a campaign's ledger adds up in all three,
// every reason why a lane does not send is said in words, and 200 lanes are a page that can be used.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { shareText } from '../../packages/console/src/logic/numbers.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { removeHeartbeat, sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { LANE_STATES, type LaneState } from '../../src/telemetry/lane-state.ts'
import type { SnapshotLane } from '../../src/telemetry/snapshot.ts'
import { accessibilityFaults } from '../support/browser.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { textAt } from '../support/console-world.ts'
import { workersHeardOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

const tab = withConsoleTab()
const { figure, showLanes } = tab

const lanesSchema = z.array(z.looseObject({ lane: z.number(), waiting: z.number(), rate: z.number() }))

async function cli(...words: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runCli([...words, '--json'], { REDIS_URL: tab.world.demo.redis_url })
  expect(code, stderr).toBe(0)
  return documentIn(stdout)
}

test('the number of waiting messages is the same on the overview, the lanes page, over HTTP and on the command line', async () => {
  await tab.world.api('POST', '/admin/lanes/1/pause', { reason: 'counting' })
  for (let i = 0; i < 3; i += 1) await tab.world.send(`+44770090018${i}`, 'counted')
  const snapshot = await eventually(async () => {
    const now = await tab.world.snapshot()
    return now.totals.waiting === 3 && now
  }, 'three wait')
  await tab.page.goto('/console')
  await figure('Waiting').getByText('3', { exact: true }).waitFor()
  await tab.page.goto('/console/lanes')
  const row = tab.page.getByRole('table', { name: 'Lanes' }).getByRole('row', { name: /^1 / })
  await row.getByRole('cell').filter({ hasText: /^3$/ }).first().waitFor()
  const overHttp = z.object({ data: lanesSchema }).parse(await tab.world.api('GET', '/admin/lanes')).data
  const onCli = lanesSchema.parse(await cli('lanes', 'list', '--account', '1'))
  for (const { sender, waiting, rate_per_s: rate } of snapshot.lanes) {
    const all = waiting.transactional + waiting.campaign
    for (const listed of [overHttp, onCli]) {
      expect(listed.find(({ lane }) => lane === sender)).toMatchObject({ waiting: all, rate })
    }
  }
  await tab.world.api('POST', '/admin/lanes/1/resume', {})
})

const progressSchema = z.looseObject({ total: z.number() })

test('the figures of a campaign are the same on its page, over HTTP and on the command line, and add up', async () => {
  const made = await tab.world.api('POST', '/campaigns', {
    name: 'Counted',
    sender: tab.world.demo.sender,
    template: {
      name: 'clip',
      language: { code: 'en_US' },
      components: [{ type: 'HEADER', parameters: [{ type: 'video', video: { link: 'https://shop.example/a.mp4' } }] }],
    },
    recipients: { tags: [tab.world.demo.tag_ids[0]] },
  })
  const id = textAt(made, ['data', 'id'])
  const state = async () => textAt(await tab.world.api('GET', `/campaigns/${id}`), ['data', 'state'])
  await tab.world.api('POST', `/campaigns/${id}/preflight`)
  await eventually(async () => (await state()) === 'ready', 'ready')
  await tab.world.api('POST', `/campaigns/${id}/start`)
  await eventually(async () => (await state()) === 'done', 'done')
  const read = async () =>
    z.object({ data: z.object({ progress: progressSchema }) }).parse(await tab.world.api('GET', `/campaigns/${id}`))
      .data.progress
  // Deliveries and reads come in for a while after it is done: all three are asked at a moment when none does.
  const progress = await eventually(async () => {
    const before = await read()
    const onCli = z.looseObject({ progress: progressSchema }).parse(await cli('campaigns', 'show', id)).progress
    const same = JSON.stringify(before) === JSON.stringify(await read())
    return same && STATES.every((name) => before[name] === onCli[name]) && before
  }, 'HTTP and the command line agree')
  const counts = STATES.map((name) => Number(progress[name]))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(progress.total)
  await tab.page.goto(`/console/campaigns/${id}`)
  await tab.page.getByText('adds up', { exact: true }).waitFor()
  const sent = Number(progress.sent) + Number(progress.delivered_total)
  await figure('Sent')
    .getByText(new RegExp(`^${sent} *100 % of the recipients`))
    .waitFor()
  for (const [name, whole] of [
    ['Delivered', 'of the sent'],
    ['Read', 'of the delivered'],
    ['Replied', 'of the delivered'],
    ['Failed', 'of the recipients'],
  ] as const) {
    await figure(name)
      .getByText(new RegExp(`${whole}$`))
      .waitFor()
  }
  const shown = (name: string): Promise<number> => figure(name).innerText().then(Number.parseInt)
  await eventually(async () => {
    const { delivered_total, read: readBy, replied, failed } = await read()
    const figures = await Promise.all(['Delivered', 'Read', 'Replied', 'Failed'].map(shown))
    return JSON.stringify(figures) === JSON.stringify([delivered_total, readBy, replied, failed])
  }, 'the page has the figures of HTTP')
  await tab.page.getByText('The state of every recipient').click()
  await tab.page
    .locator('.equation')
    .getByText(new RegExp(`^${progress.total} = `))
    .waitFor()
  await tab.page.goto('/console/campaigns')
  const listed = tab.page.getByRole('table').getByRole('row', { name: /Counted/ })
  await listed.waitFor()
  const titles = await tab.page.getByRole('columnheader').allInnerTexts()
  const delivered = titles.findIndex((title) => title.startsWith('Delivered'))
  // The list is read again every few seconds: a delivery that came in since then is on it a moment later.
  await eventually(async () => {
    const cells = await listed.locator('th, td').allInnerTexts()
    const { delivered_total } = await read()
    return cells[delivered] === shareText(Number(delivered_total), sent)
  }, 'the list has the share of HTTP')
})

test('a killed worker stays in the table as lost, beside the one that is alive', async () => {
  const facts = {
    host: 'gone-host',
    pid: 4_321,
    startedAt: Date.now() - 3_600_000,
    version: '0.1.0',
    lanes: 2,
    serves: [],
  }
  await sendHeartbeat(tab.world.redis, 'gone', facts)
  await workersHeardOf(tab.world.redis).put((await redisNowMs(tab.world.redis)) - 20 * 60_000, 'gone')
  await tab.page.goto('/console')
  const workers = tab.page.getByRole('table', { name: 'Workers' })
  await workers.getByRole('row', { name: /gone-host, process 4321.*lost 2\d min( \d+ s)? ago/ }).waitFor()
  expect(await workers.getByRole('rowheader').count()).toBe(2)
  expect(await accessibilityFaults(tab.page)).toEqual([])
  await removeHeartbeat(tab.world.redis, 'gone')
  await workers.getByText('gone-host').waitFor({ state: 'detached' })
})

const REASONS: Readonly<Record<LaneState, [reason: string | null, word: string, said: RegExp]>> = {
  stuck: ['The same message has been next for 40 s although nothing holds the lane.', 'Stuck', /next for 40 s/],
  no_worker: ['No worker has said lately that it is alive.', 'No worker', /No worker has said lately/],
  redis_full: ['Redis has used up its memory and takes no claim; nothing is lost.', 'Redis full', /nothing is lost/],
  paused: ['stock-taking', 'Paused', /Stock-taking\. By Ada, since \d/],
  cooldown: ['Too many requests (130429)', 'Cooldown', /Too many requests \(130429\).*Ends in/],
  resting: ['The portfolio has written to as many people as it may.', 'Campaigns rest', /written to as many people/],
  waiting_for_pace: [
    'All of its pace is used: 80 messages a second.',
    'At its pace',
    /8 messages to go, .* at this rate/,
  ],
  sending: [null, 'Sending', /Messages leave it/],
  idle: [null, 'Idle', /Nothing waits/],
}

const lane = (sender: number, state: LaneState): SnapshotLane => ({
  ...{ sender, name: `shop ${sender}`, account: 1, state, reason: REASONS[state][0] },
  by: state === 'paused' ? 'Ada' : null,
  since: state === 'paused' ? new Date(Date.now() - 90_000).toISOString() : null,
  until: state === 'cooldown' ? new Date(Date.now() + 3_600_000).toISOString() : null,
  drain_s: state === 'idle' ? null : 1,
  waiting: { transactional: state === 'idle' ? 0 : 5, campaign: state === 'idle' ? 0 : 3 },
  ...{ oldest_s: state === 'idle' ? null : 12, rate_per_s: 80, sent_per_s: 79.5, dead_letters: 0, in_flight: 2 },
  ...{ answer_p50_s: 0.3, answer_p99_s: 0.49, bound: 'nothing', campaigns_wait: null },
  spark: Array.from({ length: 30 }, (_, i) => i),
})

test('every reason why a lane does not send is shown in words, with who and until when', async () => {
  await showLanes(LANE_STATES.map((state, i) => lane(i + 1, state)))
  for (const [i, state] of LANE_STATES.entries()) {
    const [, word, said] = REASONS[state]
    await tab.page.goto(`/console/lanes/${i + 1}`)
    await tab.page.locator('h1').getByText(word, { exact: true }).waitFor()
    await tab.page.locator('main').locator('p').filter({ hasText: said }).first().waitFor()
  }
  await tab.page.goto('/console')
  await tab.page.getByRole('heading', { name: '5 lanes that do not send' }).waitFor()
})

test('200 lanes are shown, can be searched, and are accessible, also on a phone', async () => {
  const states: LaneState[] = ['paused', 'cooldown', 'waiting_for_pace', 'sending']
  await showLanes(Array.from({ length: 200 }, (_, i) => lane(i + 1, states[i % 4] ?? 'idle')))
  for (const size of [
    { width: 1_280, height: 900 },
    { width: 360, height: 800 },
  ]) {
    await tab.page.setViewportSize(size)
    for (const path of ['/console', '/console/lanes']) {
      await tab.page.goto(path)
      await tab.page.locator('main').getByText('shop 1', { exact: true }).first().waitFor()
      expect(await accessibilityFaults(tab.page), path).toEqual([])
      expect(await tab.page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).toBeLessThanOrEqual(0)
    }
  }
  await tab.page.getByLabel('Find a sender').fill('shop 199')
  await tab.page.getByRole('status').getByText('1 lane', { exact: true }).waitFor()
  expect(tab.faults).toEqual([])
})
