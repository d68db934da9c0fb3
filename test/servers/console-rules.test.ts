// Pins: what WhatsApp's own rules do to messages is seen and changed in the console: portfolios with their budget, campaigns
// that rest and until when, capped people, uncertain messages, and notices that come while the page is open.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { setSenderProvider, updateSender } from '../../src/accounts/senders.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { keepNotice } from '../../src/reports/notices.ts'
import { accessibilityFaults } from '../support/browser.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { textAt } from '../support/console-world.ts'
import { eventually } from '../support/wait.ts'

const tab = withConsoleTab({ LANEWAY_UNCONFIRMED_WAIT_SECONDS: '3600' })

const { press, dialog, confirm, notice, row, badge, figure } = tab

/** Starts a campaign, of the default sender to all people of the first list unless others are given; its id. */
async function startedCampaign(name: string, tag?: number, sender = tab.world.demo.sender): Promise<string> {
  const { api, demo } = tab.world
  const made = await api('POST', '/campaigns', {
    name,
    sender,
    template: {
      name: 'clip',
      language: { code: 'en_US' },
      components: [{ type: 'HEADER', parameters: [{ type: 'video', video: { link: 'https://shop.example/a.mp4' } }] }],
    },
    recipients: { tags: [tag ?? demo.tag_ids[0]] },
  })
  const id = textAt(made, ['data', 'id'])
  await api('POST', `/campaigns/${id}/preflight`)
  await eventually(async () => textAt(await api('GET', `/campaigns/${id}`), ['data', 'state']) === 'ready', 'preflight')
  await api('POST', `/campaigns/${id}/start`)
  return id
}

test('a portfolio is created and changed, a sender is added to it, and only without senders it is removed', async () => {
  await tab.page.goto('/console/portfolios')
  await tab.page.getByText('No portfolio yet.').waitFor()
  await press('Create a portfolio')
  await dialog().getByRole('textbox', { name: 'Name' }).fill('Shop Ltd')
  await dialog().getByLabel('Daily limit').fill('250')
  await confirm('Create the portfolio')
  await notice('Portfolio 1 is created.')
  await row('1 Shop Ltd').getByText('0 of 250').waitFor()
  await row('1 Shop Ltd').getByText('may write').waitFor()
  await tab.page.goto('/console/senders')
  await press('Change sender 1')
  await dialog().getByLabel('Portfolio', { exact: true }).selectOption('1 Shop Ltd')
  await confirm('Change')
  await row('1 shop').getByText('Shop Ltd', { exact: true }).waitFor()
  await tab.page.goto('/console/portfolios')
  await row('1 Shop Ltd').getByRole('link', { name: '1 shop' }).waitFor()
  await press('Remove Shop Ltd')
  await confirm('Remove the portfolio')
  await dialog().getByText('1 of its senders').waitFor()
  await confirm('Do nothing')
  await press('Change Shop Ltd')
  await dialog().getByLabel('Daily limit').fill('1')
  await dialog().getByLabel('Reserve in percent').fill('0')
  await confirm('Change')
  await row('1 Shop Ltd').getByText('0 of 1').waitFor()
})

test('a resting campaign shows why and until when, on its own page, the overview, its lane and its messages', async () => {
  const { api } = tab.world
  const id = await startedCampaign('Spring sale')
  await tab.page.goto(`/console/campaigns/${id}`)
  const why = /Why it waits: The portfolio has written to as many people as it may in 24 hours/
  await tab.page.locator('main').getByText(why).waitFor()
  await tab.page
    .locator('main')
    .getByText(/^in (1 d|23 h)/)
    .first()
    .waitFor()
  await tab.page.goto('/console/portfolios')
  await row('1 Shop Ltd').getByText('1 of 1').waitFor()
  await row('1 Shop Ltd').getByText('limit spent').waitFor()
  await row('1 Shop Ltd').getByText('wait', { exact: true }).waitFor()
  await tab.page.goto('/console')
  const card = tab.page.getByRole('region', { name: 'Held by WhatsApp’s rules' })
  await card.getByText('Campaigns rest').waitFor()
  await card.getByRole('link', { name: '1 shop' }).click()
  await badge('Campaigns rest')
  await tab.page.locator('main').getByText('as many people as it may').first().waitFor()
  await api('POST', `/campaigns/${id}/cancel`)
})

test('a campaign written in the console may try capped people again, and choose its route', async () => {
  await tab.page.goto('/console/campaigns/new')
  const limit = tab.page.getByRole('region', { name: 'WhatsApp’s limit on marketing' })
  const capped = limit.getByLabel('Those who have had enough marketing')
  expect(await capped.locator('option').first().textContent()).toBe('count as failed')
  await capped.selectOption('are tried again the next day, up to 3 times')
  await tab.page.getByRole('combobox', { name: 'Template' }).selectOption('clip, en_US')
  await tab.page.getByRole('combobox', { name: 'Sender' }).selectOption('1 shop')
  await tab.page.locator('main').getByRole('checkbox').first().check()
  await tab.page.locator('fieldset').getByRole('textbox').first().fill('https://shop.example/a.mp4')
  await tab.page.getByLabel('Marketing route').selectOption('the usual address')
  await press('Create and check')
  await tab.page.getByText('Up to 3 times those who have had enough marketing').waitFor()
  await tab.page.getByText('the usual address').waitFor()
  await tab.page.getByRole('link', { name: 'Make a copy' }).click()
  const copied = tab.page.getByLabel('Marketing route')
  await eventually(async () => (await copied.inputValue()) === 'messages', 'the copy has it')
})

test('capped people are counted apart in the figures of a campaign, and shown on the page of their message', async () => {
  const { api, demo, redis } = tab.world
  await api('PATCH', '/admin/portfolios/1', { daily_limit: null })
  const tag = await createTag(redis, demo.account_id, 'had enough')
  // The simulator lets marketing to this number fail with 131049, a moment after it was sent.
  await importContacts(redis, demo.account_id, tag.id, [{ phone: '15550100206', name: 'Cap', email: '' }])
  const id = await startedCampaign('Too much', tag.id)
  const shown = z.object({ data: z.object({ progress: z.object({ capped: z.int() }) }) })
  await eventually(async () => shown.parse(await api('GET', `/campaigns/${id}`)).data.progress.capped === 1, 'capped')
  await tab.page.goto(`/console/campaigns/${id}`)
  await tab.page.getByText('because the person has had enough marketing').waitFor()
  expect(await accessibilityFaults(tab.page)).toEqual([])
  await tab.page.getByRole('link', { name: '1', exact: true }).last().click()
  await tab.page.getByRole('row').filter({ hasText: '15550100206' }).getByRole('link').first().click()
  await tab.page.getByText('No marketing until').waitFor()
  await tab.page.getByText(/It can be sent again in (1 d|23 h)/).waitFor()
  expect(await tab.page.getByRole('button', { name: 'Send again' }).count()).toBe(0)
})

test('a notice appears while the page is open, is found by its template, and marks the sender', async () => {
  const { redis, demo } = tab.world
  await tab.page.goto('/console/notices')
  await tab.page.getByText('No notice yet.').waitFor()
  const nowMs = Date.now()
  await keepNotice(
    redis,
    {
      ...{ at: nowMs, received_at: nowMs, account: demo.account_id, kind: 'message_template_status_update' },
      ...{ field: 'message_template_status_update', event: 'PAUSED', waba_id: null, lane: 1 },
      ...{ sentence: 'Template clip (en_US) is PAUSED.', template: { name: 'clip', language: 'en_US' } },
      details: { reason: 'LOW_QUALITY' },
    },
    { nowMs, isTimed: true },
  )
  await row('Template clip (en_US) is PAUSED.').getByText('reason: LOW_QUALITY').waitFor()
  expect(await accessibilityFaults(tab.page)).toEqual([])
  await tab.page.getByLabel('Template').fill('no_such')
  await tab.page.getByText('No notice matches.').waitFor()
  await tab.page.getByLabel('Template').fill('clip')
  await row('Template clip (en_US) is PAUSED.').getByText('PAUSED', { exact: true }).waitFor()
  await tab.page.getByLabel('About').selectOption('security')
  await tab.page.getByText('No notice matches.').waitFor()
  expect(new URL(tab.page.url()).search).toBe('?field=security&template=clip')

  await setSenderProvider(redis, 1, { wabaId: '4711' })
  await updateSender(redis, 1, 'quality', { atMs: nowMs, value: 'FLAGGED' })
  await updateSender(redis, 1, 'name', { atMs: nowMs, value: 'The Shop' })
  await tab.page.goto('/console/senders')
  await row('1 shop').getByText('flagged').waitFor()
  await row('1 shop').getByText('The Shop').waitFor()
  expect(tab.faults).toEqual([])
})

test('a campaign with only an uncertain message left shows that, and no time left, wherever campaigns are shown', async () => {
  const { api, demo, redis } = tab.world
  const tag = await createTag(redis, demo.account_id, 'uncertain')
  // The simulator answers the second with a 500 that proves nothing, and never reports it.
  await importContacts(redis, demo.account_id, tag.id, [
    { phone: '447700900131', name: 'Certain', email: '' },
    { phone: '15550100125', name: 'Uncertain', email: '' },
  ])
  const id = await startedCampaign('Uncertain', tag.id, 'cloud')
  const one = z.object({
    data: z.object({ progress: z.looseObject({ unconfirmed: z.int(), queued: z.int(), sending: z.int() }) }),
  })
  const progress = await eventually(async () => {
    const now = one.parse(await api('GET', `/campaigns/${id}`)).data.progress
    return now.unconfirmed === 1 && now.sending === 0 && now.queued === 0 && now
  }, 'unconfirmed')
  expect(progress).toMatchObject({ seconds_left: null, rate_per_second: 0 })
  await tab.page.goto(`/console/campaigns/${id}`)
  await tab.page.getByText('Nothing is left to send; 1 unconfirmed.').waitFor()
  await figure('Unconfirmed')
    .getByText(/^1 *waiting for evidence$/)
    .waitFor()
  expect(await accessibilityFaults(tab.page)).toEqual([])
  await figure('Unconfirmed').getByRole('link', { name: '1' }).click()
  await row('15550100125').getByText('unconfirmed', { exact: true }).waitFor()
  await tab.page.goto('/console/campaigns')
  await row('Uncertain').getByText('1 unconfirmed').waitFor()
  await tab.page.goto('/console')
  const line = tab.page
    .getByRole('region', { name: 'Campaigns' })
    .getByRole('listitem')
    .filter({ hasText: 'Uncertain' })
  await line.getByText('50 %, 1 unconfirmed', { exact: true }).waitFor()
})
