// Pins: the console lists what is to leave later, messages and campaigns, the next first, and finds what leaves on a day.
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/kernel/time-units.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { textAt } from '../support/console-world.ts'
import { eventually } from '../support/wait.ts'

const tab = withConsoleTab()
const { press, row } = tab

const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString()

async function sendLater(to: string, send_at: string): Promise<string> {
  const body = { to, sender: tab.world.demo.sender, type: 'text', text: { body: 'Later' }, send_at }
  return textAt(await tab.world.api('POST', '/messages', body), ['data', 'id'])
}

async function scheduleCampaign(name: string, at: string): Promise<void> {
  const { sender, tag_ids } = tab.world.demo
  const template = {
    name: 'clip',
    language: { code: 'en_US' },
    components: [{ type: 'HEADER', parameters: [{ type: 'video', video: { link: 'https://shop.example/a.mp4' } }] }],
  }
  const body = { name, sender, template, recipients: { tags: [tag_ids[0]] } }
  const id = textAt(await tab.world.api('POST', '/campaigns', body), ['data', 'id'])
  await tab.world.api('POST', `/campaigns/${id}/preflight`)
  await eventually(
    async () => textAt(await tab.world.api('GET', `/campaigns/${id}`), ['data', 'state']) === 'ready',
    'the campaign is checked',
  )
  await tab.world.api('POST', `/campaigns/${id}/schedule`, { at })
}

/** The rows of the table, without its head. */
const rows = () => tab.page.locator('main tbody tr')

test('messages and campaigns that are to leave later are listed, the next first, and lead to their pages', async () => {
  await tab.page.goto('/console')
  await tab.page.getByRole('link', { name: 'Scheduled' }).click()
  await tab.page.getByText('Nothing is scheduled.').waitFor()
  await sendLater('+447700900142', inHours(100))
  const next = await sendLater('+447700900141', inHours(2))
  await scheduleCampaign('Monday offer', inHours(50))
  // The page looks again by itself.
  await rows().nth(2).waitFor()
  const shown = await rows().allInnerTexts()
  expect(shown.map((text) => /\+?4477009001\d\d|Monday offer/.exec(text)?.[0].replace('+', ''))).toEqual([
    '447700900141',
    'Monday offer',
    '447700900142',
  ])
  expect(await row('Monday offer').innerText()).toMatch(/\d+ recipients/)
  await row('447700900141').getByRole('link').click()
  await tab.page.waitForURL(`**/console/messages/${encodeURIComponent(next)}`)
})

test('the list can be narrowed to a span and to a sender, and says when nothing leaves then', async () => {
  const until = new Date(Date.now() + DAY_MS).toISOString()
  await tab.page.goto(`/console/scheduled?until=${until}`)
  await row('447700900141').waitFor()
  expect(await rows().count()).toBe(1)
  const other = await tab.page.getByLabel('Sender').locator('option').last().getAttribute('value')
  await tab.page.getByLabel('Sender').selectOption(other)
  await tab.page.getByText('Nothing leaves then.').waitFor()
  expect(tab.page.url()).toContain(`sender=${other}`)
  await tab.page.getByRole('link', { name: 'Show all that is scheduled' }).click()
  await rows().nth(2).waitFor()
  expect(tab.faults).toEqual([])
})

test('a message that is cancelled is no longer listed', async () => {
  await row('447700900141').getByRole('link').click()
  await press('Cancel')
  await tab.confirm(/Cancel/)
  await tab.notice(/cancelled/i)
  await tab.page.goto('/console/scheduled')
  await rows().nth(1).waitFor()
  expect(await rows().count()).toBe(2)
})
