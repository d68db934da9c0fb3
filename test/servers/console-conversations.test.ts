// Pins: conversations, opt-outs, files that people sent and limits are seen in the console and changed by keys that may; a
// key for some senders sees what it may do and nothing else; a page that was refused for a moment mends itself.
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { NO_ACCOUNT } from '../../src/model/accounts/permissions.ts'
import { openTab, signIn } from '../support/browser.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { textAt } from '../support/console-world.ts'

const PERSON = '447700900177'

const tab = withConsoleTab()

const { press, confirm } = tab
const card = () => tab.page.getByRole('region', { name: 'Conversation' })
const senders = z.object({ data: z.array(z.object({ id: z.number(), phone_number_id: z.string().nullable() })) })

test('a received message shows that the conversation is open, and its file can be saved', async () => {
  const known = senders.parse(await tab.world.api('GET', '/admin/senders')).data
  const sender = known.find(({ phone_number_id: id }) => id !== null)?.phone_number_id
  const written = { sender, from: `+${PERSON}`, type: 'document', text: 'Bill' }
  const answer = await fetch(`${tab.world.demo.simulator_url}/_inbound`, {
    method: 'POST',
    body: JSON.stringify(written),
  })
  const id = textAt(await answer.json(), ['id'])
  await tab.page.goto(`/console/messages/${encodeURIComponent(id)}`)
  await card().getByText('open', { exact: true }).waitFor()
  await card().getByText('Any kind of message may be sent.').waitFor()
  const saving = tab.page.waitForEvent('download')
  await press('Save the file')
  expect(readFileSync(await (await saving).path(), 'utf8')).toBe('A made-up document: Bill\n')
})

test('a person is opted out on the page of their message, found in the list, and removed from it', async () => {
  await press('Opt this person out')
  await confirm('Opt out')
  await card().getByText('opted out', { exact: true }).waitFor()
  expect(await tab.world.api('GET', `/opt-outs/${PERSON}`)).toMatchObject({ data: { source: 'http' } })
  await tab.page.goto('/console/opt-outs')
  await tab.page.getByRole('row').filter({ hasText: PERSON }).getByText('somebody of the account').waitFor()
  await tab.page.getByLabel('Number or user id').fill('+44 7700 900177')
  await press('Find')
  await tab.page.waitForURL(/person=/)
  await press(`Remove the opt-out of ${PERSON}`)
  await confirm('Remove the opt-out')
  await tab.page.getByText('This person has not opted out.').waitFor()
  await expect(tab.world.api('GET', `/opt-outs/${PERSON}`)).rejects.toThrow('404')
})

test('an opt-out is added by hand, and an invalid number is refused in place', async () => {
  await tab.page.goto('/console/opt-outs')
  await press('Add an opt-out')
  await tab.page.getByRole('dialog').getByLabel('Number or user id').fill('12')
  await confirm('Opt out')
  await tab.page.getByRole('dialog').getByRole('alert').waitFor()
  await tab.page.getByRole('dialog').getByLabel('Number or user id').fill('+44 7700 900178')
  await confirm('Opt out')
  await tab.page.getByRole('row').filter({ hasText: '447700900178' }).waitFor()
})

test('a key that may only read contacts shows opt-outs and no way to change them', async () => {
  const other = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(other.page, await tab.world.keyWith(['messages:read', 'contacts:read'], 'reader'), '/console/opt-outs')
  await other.page.getByRole('row').filter({ hasText: '447700900178' }).waitFor()
  expect(
    await other.page
      .locator('main')
      .getByRole('button', { name: /add|remove/i })
      .count(),
  ).toBe(0)
  await other.context.close()
})

const inForce = z.object({ data: z.array(z.object({ limit: z.string(), used: z.number().nullable() })) })

test('the limits in force are shown with their use, and an operator changes one', async () => {
  const row = (of: Page, name: string) => of.getByRole('row').filter({ hasText: name })
  await tab.page.goto('/console/limits')
  const known = inForce.parse(await tab.world.api('GET', '/admin/limits')).data
  const contacts = known.find(({ limit }) => limit === 'limit.contacts')?.used
  await row(tab.page, 'limit.contacts').getByText(String(contacts), { exact: true }).waitFor()
  await row(tab.page, 'limit.contacts').getByText('10,000,000').waitFor()
  expect(await tab.page.locator('main').getByRole('button', { name: 'Change' }).count()).toBe(0)
  const { secret } = await createCredential(tab.world.redis, NO_ACCOUNT, ['operator'], Date.now(), 0, 'Olga')
  const other = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(other.page, secret, '/console/limits')
  await other.page.getByRole('button', { name: /^1 / }).click()
  await other.page.getByRole('button', { name: 'Change Contacts' }).click()
  await other.page.getByRole('dialog').getByLabel('At most').fill(String(contacts))
  await other.page.getByRole('dialog').getByRole('button', { name: 'Change the limit' }).click()
  await row(other.page, 'limit.contacts').getByText('full', { exact: true }).waitFor()
  await row(other.page, 'limit.contacts').getByText('this account').waitFor()
  await other.context.close()
})

test('a key for some senders is shown only what it may do, does it, and is refused nothing', async () => {
  const { secret } = await createCredential(
    tab.world.redis,
    tab.world.demo.account_id,
    ['messages:read', 'messages:send', 'admin', 'contacts:read'],
    Date.now(),
    0,
    'bound',
    { senders: [1] },
  )
  const other = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(other.page, secret)
  const refused: string[] = []
  other.page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
  })
  const id = await tab.world.send('+447700900179', 'of sender 1')
  for (const path of ['', '/lanes', '/lanes/1', '/messages', `/messages/${id}`, '/conversations', '/start']) {
    await other.page.goto(`/console${path}`)
    await other.page.locator('main').getByRole('heading', { level: 1 }).waitFor()
    await other.page.waitForLoadState('load')
  }
  const links = await other.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
  expect(links).toEqual(['Overview', 'Lanes', 'Messages', 'Conversations', 'Send a message'])
  await other.page.goto('/console/lanes')
  const lanes = other.page.getByRole('table', { name: 'Lanes' })
  await lanes.getByRole('button', { name: /^Pause lane 1/ }).click()
  await other.page.getByRole('dialog').getByRole('button', { name: 'Pause the lane' }).click()
  await lanes.getByRole('button', { name: /^Resume lane 1/ }).waitFor()
  expect(await lanes.getByRole('rowheader').count()).toBe(1)
  await tab.world.api('POST', '/admin/lanes/1/resume', {})
  expect({ refused, faults: other.faults }).toEqual({ refused: [], faults: [] })
  await other.context.close()
})

test('a key for a sender other than the default one writes from that sender', async () => {
  const permissions = ['messages:read', 'messages:send'] as const
  const { account_id: account } = tab.world.demo
  const { secret } = await createCredential(tab.world.redis, account, permissions, Date.now(), 0, '', { senders: [2] })
  const other = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(other.page, secret)
  await other.page.goto('/console/start')
  const options = other.page.getByLabel('Sender', { exact: true }).getByRole('option')
  await options.first().waitFor({ state: 'attached' })
  expect(await options.allInnerTexts()).toEqual([expect.stringMatching(/^2 /)])
  await other.page.getByLabel('To', { exact: true }).fill('+447700900178')
  await other.page.getByRole('button', { name: 'Send it' }).click()
  await other.page.getByText('It has arrived.').waitFor()
  await other.context.close()
})

test('a page that failed because Redis was away is loaded again by itself', async () => {
  // Until it was seen: on a slow machine the page asks again before that.
  let isAway = true
  await tab.page.route('**/contacts?*', (route) => {
    if (!isAway) return route.continue()
    return route.fulfill({ status: 503, json: { message: 'Redis is away.', error: { code: 'unavailable' } } })
  })
  await tab.page.goto('/console/contacts')
  await tab.page.getByRole('alert').getByText('Redis is away.').waitFor()
  isAway = false
  await tab.page.getByRole('table', { name: 'Contacts' }).waitFor()
  expect(await tab.page.getByText('Redis is away.').count()).toBe(0)
  await tab.page.unroute('**/contacts?*')
  expect(tab.faults).toEqual([])
})
