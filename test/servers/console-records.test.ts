// Pins: keys, senders, templates and contacts are made, changed and removed in the console; a key is shown once.
import { expect, test } from 'vitest'
import { apiClient } from '../support/api.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { windows1252 } from '../support/spreadsheet-exports.ts'
import { eventually } from '../support/wait.ts'

const tab = withConsoleTab()

const { press, dialog, confirm, notice, row } = tab

test('a key is made with a name and permissions, shown once, used, rotated and revoked', async () => {
  await tab.page.goto('/console/keys')
  await press('New key')
  await dialog().getByRole('textbox', { name: 'Name' }).fill('order service')
  await dialog()
    .getByLabel(/messages:read/)
    .check()
  await confirm('Create the key')
  const key = await dialog().locator('.secret code').textContent()
  expect(key).toMatch(/^lw_\w{38}$/)
  await confirm('I have kept it')
  expect(await tab.page.content()).not.toContain(key)
  const used = await apiClient(tab.world.baseUrl, key ?? '').get('/messages')
  expect(used.status).toBe(200)
  await eventually(async () => {
    await tab.page.reload()
    const made = row('order service')
    await made.waitFor()
    return /from 127\.0\.0\.1.*1 on \d{4}-\d\d-\d\d/s.test(await made.innerText())
  }, 'the page says from where the key was used last, and how often on which day')
  await press('Rotate order service')
  await confirm('Make the new key')
  await confirm('I have kept it')
  await press('Revoke order service')
  await confirm('Revoke the key')
  await notice('order service is revoked.')
  await row('order service').filter({ hasText: 'revoked' }).first().waitFor()
})

test('a sender gets another name and pace', async () => {
  await tab.page.goto('/console/senders')
  await press('Change sender 1')
  await dialog().getByRole('textbox', { name: 'Name' }).fill('main shop')
  await dialog().getByLabel('Messages per second').fill('50')
  await confirm('Change')
  await row('main shop').getByRole('cell', { name: '50', exact: true }).waitFor()
})

test('templates are imported from JSON, previewed and removed', async () => {
  await tab.page.goto('/console/templates')
  await press('Import')
  const template = {
    name: 'gift_note',
    language: 'en_US',
    category: 'UTILITY',
    components: [
      { type: 'BODY', text: 'Your gift for {{1}} is on its way.' },
      { type: 'FOOTER', text: 'The shop' },
    ],
  }
  await dialog()
    .getByLabel('Definitions as JSON')
    .fill(JSON.stringify([template]))
  await confirm('Import')
  await notice('1 template imported.')
  await tab.page.getByRole('link', { name: 'gift_note' }).click()
  await tab.page.getByText('Your gift for ⟨1⟩ is on its way.').waitFor()
  await tab.page.getByText('The shop').waitFor()
  await press('Remove')
  await confirm('Remove the template')
  await tab.page.getByRole('link', { name: 'gift_note' }).waitFor({ state: 'detached' })
})

test('what is not JSON is refused in place, and the typed text stays', async () => {
  await tab.page.goto('/console/templates')
  await press('Import')
  await dialog().getByLabel('Definitions as JSON').fill('{ no')
  await confirm('Import')
  await dialog().getByText('This is no JSON.').waitFor()
  expect(await dialog().getByLabel('Definitions as JSON').inputValue()).toBe('{ no')
  await confirm('Do nothing')
})

test('a list is created, people are imported with the refused rows shown, found, changed and deleted', async () => {
  await tab.page.goto('/console/contacts')
  await press('New list')
  await dialog().getByLabel('Name').fill('Autumn')
  await confirm('Create')
  await tab.page.getByRole('heading', { name: 'Autumn' }).waitFor()
  await press('Import into this list')
  const csv = 'name;phone;email\nIda Exämple;+44 7700 900171;ida@shop.example\nBen;none;\n'
  await dialog()
    .getByLabel(/CSV file/)
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: windows1252(csv) })
  await confirm('Import')
  await dialog().getByText('1 contact imported').waitFor()
  await dialog().getByText('Line 3:').waitFor()
  await dialog().getByText('Read as windows-1252, separated by semicolons').waitFor()
  await confirm('Close')
  await tab.page.getByLabel('Name, email or number').fill('ida')
  await press('Find')
  await tab.page.waitForURL(/q=ida/)
  await press('Change Ida Exämple')
  await dialog().getByLabel('Name').fill('Ida Sample')
  await confirm('Change')
  await tab.page.goto('/console/contacts?q=sample')
  await press('Delete Ida Sample')
  await confirm('Delete the contact')
  await notice('Deleted.')
  await tab.page.getByText('Nobody like this is here.').waitFor()
})

test('a contact is created by hand, and a second one with the same number is refused with a sentence', async () => {
  await tab.page.goto('/console/contacts?tag=1')
  const create = async (): Promise<void> => {
    await press('New contact')
    await dialog().getByLabel('Phone').fill('+44 7700 900172')
    await dialog().getByLabel('Name').fill('Jon')
    await confirm('Create')
  }
  await create()
  await row('Jon').waitFor()
  await create()
  await dialog().getByRole('alert').waitFor()
  await confirm('Do nothing')
})

test('all of this causes no error on the page and no request to another host', () => {
  expect(tab.faults).toEqual([])
})
