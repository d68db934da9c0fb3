// Pins: what is kept of a person is shown, saved and forgotten in the console; secrets of webhooks are added there, shown
// at most once, and removed; the activity tells of both in words.

import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { apiClient } from '../support/api.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { postSigned } from '../support/webhooks.ts'

const PERSON = '447700900188'
const tab = withConsoleTab()
let message: string

beforeAll(async () => {
  message = await tab.world.send(`+${PERSON}`, 'Your parcel is at the door')
  await tab.world.reaches(message, 'delivered', 'read')
  await tab.world.api('POST', '/opt-outs', { person: `+${PERSON}` })
})

test('a message links to everything kept of its person', async () => {
  const { page } = tab
  await page.goto(`/console/messages/${message}`)
  await page.getByRole('link', { name: 'All that is kept of the person' }).click()
  await page.getByRole('heading', { name: PERSON }).waitFor()
  await page.getByText('opted out', { exact: true }).waitFor()
  await page.getByRole('table', { name: 'Messages' }).getByText('Your parcel is at the door').waitFor()
})

test('the data of a person are saved as one file, whose name identifies nobody', async () => {
  const { page, press } = tab
  await page.goto(`/console/people?person=${PERSON}`)
  const [file] = await Promise.all([page.waitForEvent('download'), press('Save as a file')])
  expect(file.suggestedFilename()).toBe('person.json')
  const saved: unknown = JSON.parse(readFileSync(await file.path(), 'utf8'))
  expect(saved).toMatchObject({ data: { person: PERSON, messages: [{ id: message }], opt_out: { person: PERSON } } })
})

test('nobody is erased before their number is typed, and afterwards only their opt-out is kept', async () => {
  const { page, press, dialog, confirm } = tab
  await page.goto(`/console/people?person=${PERSON}`)
  await press('Erase')
  await dialog().getByText('the number and text of 1 message').waitFor()
  const erase = dialog().getByRole('button', { name: 'Erase for good' })
  expect(await erase.isDisabled()).toBe(true)
  await dialog().getByRole('textbox').fill('+44 7700 900189')
  expect(await erase.isDisabled()).toBe(true)
  await dialog().getByRole('textbox').fill('+44 7700 900188')
  await confirm('Erase for good')
  await page.getByText('erased', { exact: true }).waitFor()
  await page.getByRole('table', { name: 'Messages' }).waitFor({ state: 'detached' })
  await page.getByText('opted out', { exact: true }).waitFor()
  expect(await page.locator('main').innerText()).not.toContain('parcel')
  await page.goto(`/console/messages/${message}`)
  await page.getByText('What happened').waitFor()
  expect(await page.locator('main').innerText()).not.toContain('parcel')
  await page.goto('/console/activity')
  await page.getByRole('table').getByText('erased a person').first().waitFor()
  expect(await page.locator('main').innerText()).not.toContain(PERSON)
})

test('a verify token is made in the browser, shown once, and answers the handshake', async () => {
  const { page, press, dialog, confirm, row, world } = tab
  await page.goto('/console/senders')
  await press('Add Verify token')
  await confirm('Add the secret')
  const token = (await dialog().locator('.secret code').textContent()) ?? ''
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  await confirm('I have kept it')
  expect(await page.content()).not.toContain(token)
  await row('Verify token').getByText('1 of 2').waitFor()
  const shake = new URLSearchParams({ 'hub.mode': 'subscribe', 'hub.verify_token': token, 'hub.challenge': '42' })
  const answer = await fetch(`${world.baseUrl}/webhooks/cloud-api/${world.demo.account_id}?${shake}`)
  expect([answer.status, await answer.text()]).toEqual([200, '42'])
})

test('two app secrets are both valid until the older one is removed', async () => {
  const { page, press, dialog, confirm, row, notice } = tab
  const signed = async (secret: string): Promise<number> => {
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [] })
    const address = `${tab.world.baseUrl}/webhooks/cloud-api/${tab.world.demo.account_id}`
    return (await postSigned(address, body, secret)).status
  }
  const [older, newer] = ['a secret of the past'.replaceAll(' ', '-'), 'one-of-the-present']
  await page.goto('/console/senders')
  for (const [secret, count] of [
    [older, '1 of 2'],
    [newer, '2 of 2'],
  ] as const) {
    await press('Add App secret')
    expect(await dialog().getByRole('button', { name: 'Add the secret' }).isDisabled()).toBe(true)
    await dialog().getByLabel('Secret').fill(secret)
    await confirm('Add the secret')
    await notice('The secret is added.')
    await row('App secret').getByText(count).waitFor()
  }
  await expect.poll(async () => [await signed(older), await signed(newer)]).toEqual([200, 200])
  await press('Remove the older App secret')
  await confirm('Remove the secret')
  await row('App secret').getByText('1 of 2').waitFor()
  await expect.poll(() => signed(older)).toBe(401)
  expect(await signed(newer)).toBe(200)
})

test('a key that may only look finds no links to the data of a person', async () => {
  const { world } = tab
  const session = await world.keyWith(['messages:read'], 'reader')
  const answer = await apiClient(world.baseUrl, session).get(`/admin/people/${PERSON}`)
  expect(answer.status).toBe(403)
})
