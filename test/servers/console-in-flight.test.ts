// Pins: the pages of lanes show what a lane has in flight, how long its provider takes to answer, and what holds it back.
import { expect, test } from 'vitest'
import { LANE_BOUNDS, type LaneBound } from '../../src/telemetry/lane-bound.ts'
import { accessibilityFaults } from '../support/browser.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { eventually } from '../support/wait.ts'

const tab = withConsoleTab()
const { figure, showLanes } = tab

const row = () => tab.page.getByRole('table', { name: 'Lanes' }).getByRole('row', { name: /^1 / })

/** As the console writes it; a busy machine adds to what the provider takes. */
const AT_LEAST_300_MS = String.raw`(?:(?:29|[3-9]\d)\d ms|\d.* s)`

test('a provider that takes 300 ms is visible on both pages, and a paused lane is shown as bound by its pause', async () => {
  await fetch(`${tab.world.demo.simulator_url}/_control`, {
    method: 'POST',
    body: JSON.stringify({ answer_delay_ms: 300 }),
  })
  for (let i = 0; i < 5; i += 1) await tab.world.send(`+44770090028${i}`, 'slow')
  await eventually(async () => {
    const lane = (await tab.world.snapshot()).lanes.find(({ sender }) => sender === 1)
    return (lane?.answer_p50_s ?? 0) > 0.28 && lane?.in_flight === 0
  }, 'the snapshot tells of answers')
  await tab.page.goto('/console/lanes')
  await row()
    .getByText(new RegExp(`^0 in flight, p50 ${AT_LEAST_300_MS}, p99 .*s$`))
    .waitFor()
  await row().getByTitle('No message waits.').waitFor()
  await tab.page.goto('/console/lanes/1')
  await figure('Answers, p50')
    .getByText(new RegExp(`^${AT_LEAST_300_MS}$`))
    .waitFor()
  await figure('Answers, p99').getByText(/s$/).waitFor()
  await figure('In flight').getByText('0', { exact: true }).waitFor()
  await tab.world.api('POST', '/admin/lanes/1/pause', {})
  await tab.page.getByText('Held back by a pause. It is paused: nothing leaves until somebody resumes it.').waitFor()
  await tab.world.api('POST', '/admin/lanes/1/resume', {})
  await tab.page.getByText('Held back by nothing. No message waits.').waitFor()
  expect(await accessibilityFaults(tab.page)).toEqual([])
})

test('the overview shows for each worker how much of its limit is in flight', async () => {
  await tab.page.goto('/console')
  const workers = tab.page.getByRole('table', { name: 'Workers' })
  await workers
    .getByRole('cell')
    .getByText(/^\d+ of 6,000$/)
    .waitFor()
})

const SAID: Readonly<Record<LaneBound, RegExp>> = {
  pause: /Held back by a pause\. /,
  cooldown: /Held back by a cooldown\. /,
  rule: /Held back by a rule of WhatsApp\. Its campaigns wait/,
  pace: /Held back by its rate\. It sends as many messages a second as its rate allows/,
  memory: /Held back by a full worker\. .*LANEWAY_MAX_IN_FLIGHT/,
  share: /Held back by its share of the worker\. .*equal part of LANEWAY_MAX_IN_FLIGHT/,
  answer_time: /Held back by slow answers\. The provider answers more slowly than before/,
  nothing: /Held back by nothing\. /,
}

test('whatever bounds a lane is shown in a sentence, and in the table if somebody can change it', async () => {
  const [lane] = (await tab.world.snapshot()).lanes
  if (lane === undefined) throw new Error('there is no lane')
  const lanes = LANE_BOUNDS.map((bound, i) => ({
    ...{ ...lane, bound, sender: i + 1, state: 'sending' as const, in_flight: 12 + i },
    waiting: { transactional: 5, campaign: 0 },
  }))
  await showLanes(lanes)
  for (const [i, bound] of LANE_BOUNDS.entries()) {
    await tab.page.goto(`/console/lanes/${i + 1}`)
    await tab.page.locator('main p').filter({ hasText: SAID[bound] }).waitFor()
    await figure('In flight')
      .getByText(String(12 + i), { exact: true })
      .waitFor()
  }
  for (const width of [1_280, 360]) {
    await tab.page.setViewportSize({ width, height: 800 })
    await tab.page.goto('/console/lanes')
    // Cards on a phone are no rows to a browser.
    await tab.page
      .locator('tbody tr')
      .nth(LANE_BOUNDS.length - 1)
      .waitFor()
    expect(await accessibilityFaults(tab.page)).toEqual([])
    expect(await tab.page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  }
  await tab.page.setViewportSize({ width: 1_280, height: 800 })
  const sentences = tab.page
    .getByRole('table', { name: 'Lanes' })
    .locator('.reason')
    .filter({ hasText: /Its worker|The provider/ })
  expect(await sentences.count()).toBe(3)
  expect(tab.faults).toEqual([])
})
