// Pins: what people do in the console is done: lanes, messages, campaigns, gallery, contacts, templates, senders, keys. Each
// act asks first, and what the server knows afterwards is what was asked for.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { acts, type ConsoleTab, startConsoleTab } from '../support/console-tab.ts'
import { type ConsoleWorld, textAt } from '../support/console-world.ts'
import { EXPORTS, windows1252 } from '../support/spreadsheet-exports.ts'

let world: ConsoleWorld
let tab: ConsoleTab
let page: Page

beforeAll(async () => {
  tab = await startConsoleTab()
  ;({ world, page } = tab)
})
afterAll(() => tab?.close())

const { press, confirm, said, badge } = acts(() => page)

test('the first message is sent from the page that invites to, and is shown being delivered', async () => {
  await page.goto('/console')
  await page.getByRole('link', { name: 'Send the first message' }).click()
  await page.getByLabel('To', { exact: true }).fill('+447700900123')
  await press('Send it')
  await page.getByText('It has arrived.').waitFor()
  await page.getByText('Evidence: it is on the person’s device.').waitFor()
})

test('a message is sent from the sender that is chosen', async () => {
  await page.goto('/console/start')
  const sender = page.getByLabel('Sender', { exact: true })
  await sender.getByRole('option').nth(2).waitFor({ state: 'attached' })
  const [byDefault, ...named] = await sender.getByRole('option').allInnerTexts()
  expect([byDefault, named.length]).toEqual(['The default sender', 2])
  await sender.selectOption({ index: 2 })
  await page.getByLabel('To', { exact: true }).fill('+447700900127')
  await press('Send it')
  await page.getByText('It has arrived.').waitFor()
  const address = await page.getByRole('link', { name: 'See the message' }).getAttribute('href')
  expect(address).toMatch(/^\/console\/messages\/msg_2_/)
})

test('a lane is paused with a reason, shows it, gets another rate and is resumed', async () => {
  await page.goto('/console/lanes')
  await press(/^Pause lane 1/)
  await page.getByLabel('Reason').fill('stock-taking')
  await confirm('Pause the lane')
  await page.getByRole('row', { name: /^1 / }).getByText('stock-taking').waitFor()
  await page.goto('/console/lanes/1')
  await badge('Paused')
  await press('Change rate')
  await page.getByText('Now 80 per second; 0 messages wait.').waitFor()
  // As a person types who has not touched the field: what stood there is replaced.
  await page.keyboard.type('40')
  await confirm('Change the rate')
  await said('40 per second')
  const lanes = await world.api('GET', '/admin/lanes')
  expect(lanes).toMatchObject({ data: [{ lane: 1, paused: true, paused_for: 'stock-taking', rate: 40 }, {}] })
})

test('what does not exist is said once, and nothing on the page is still loading', async () => {
  await page.goto('/console/messages/msg_1_nope')
  await page.getByText('The message does not exist.').waitFor()
  await page.getByText('Not loaded').waitFor()
  expect(await page.getByText('Loading').count()).toBe(0)
})

test('a message that waits is cancelled, says so in its history, and is sent again', async () => {
  const id = await world.send('+447700900125', 'to be cancelled')
  await page.goto(`/console/messages/${id}`)
  await page.getByText('Why it waits').waitFor()
  await press('Cancel')
  await confirm('Cancel this message')
  await badge('cancelled')
  await press('Send again')
  await confirm('Send this message again')
  await badge('queued')
  await page.goto('/console/lanes/1')
  await press(/^Resume/)
  await confirm('Resume')
  await world.reaches(id, 'delivered')
})

test('a dialog that is left with Escape has done nothing', async () => {
  await page.goto('/console/lanes/1')
  await press(/^Pause/)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await world.api('GET', '/admin/lanes')).toMatchObject({ data: [{ paused: false }, {}] })
})

test('a search is kept by the address bar, and all that match are requeued after their count was shown', async () => {
  const ids = [await world.send('+15550100101', 'one'), await world.send('+15550100101', 'two')]
  for (const id of ids) await world.reaches(id, 'failed')
  await page.goto('/console/messages')
  await page.getByLabel('State').selectOption('failed')
  await press('Search')
  await page.waitForURL(/\?state=failed/)
  await page.reload()
  await page.getByRole('table').getByText('failed').first().waitFor()
  await press('Requeue all that match')
  await page.getByRole('dialog').getByText('2 messages match').waitFor()
  await confirm('Send 2 messages again')
  await page.getByRole('dialog').getByText('Done: 2 of 2').waitFor()
  await confirm('Close')
})

test('a search by id leads to the message', async () => {
  const id = await world.send('+447700900126', 'found')
  await page.goto('/console/messages')
  await page.getByLabel('Message id').fill(id)
  await press('Search')
  await page.waitForURL(`**/console/messages/${id}`)
  await page.getByText('found').waitFor()
})

const fill = async (group: string | RegExp, value: string): Promise<void> =>
  page.getByRole('group', { name: group }).getByLabel('Value').fill(value)

async function writeCampaign(name: string): Promise<void> {
  await page.goto('/console/campaigns/new')
  await page.getByLabel('Name, for your colleagues').fill(name)
  await page.getByLabel('Sender', { exact: true }).selectOption({ index: 1 })
  await page.getByLabel('Template', { exact: true }).selectOption('flash_sale/en_US')
  await fill('Link to the image', 'https://shop.example/spring.png')
  await fill(/^End of the address/, 'today')
  await fill(/^Code of the button/, 'SAVE20')
}
const comesFrom = (group: string, source: string) =>
  page.getByRole('group', { name: group }).getByLabel('Comes from').selectOption(source)

test('a campaign to contacts is written with a preview, tested on one number, checked, started and accounted for', async () => {
  await writeCampaign('Spring sale')
  await page.getByRole('group', { name: 'Everybody on one of these lists' }).getByRole('checkbox').first().check()
  await comesFrom('Text {{1}}', 'contact.name')
  await page.getByText(/Only today: .+ off everything/).waitFor()
  await page.getByLabel('To', { exact: true }).fill('+447700900150')
  await press('Send the test')
  await page.getByRole('status').getByText('delivered').waitFor()
  await press('Create and check')
  await page.waitForURL(/cmp_/)
  await badge('ready')
  await press('Start now')
  await page
    .getByRole('dialog')
    .getByText(/\d+ people will get/)
    .waitFor()
  await confirm('Start now')
  await badge('done')
  await page.getByText('adds up').waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  expect((await download).suggestedFilename()).toMatch(/^cmp_.*\.csv$/)
})

test('a campaign to the rows of a file shows its columns, whom the preflight refused, is scheduled and cancelled', async () => {
  await writeCampaign('From a file')
  await page.getByLabel('A file', { exact: true }).check()
  const rows = 'mobile;first\n+44 7700 900161;Zoë\n+44 7700 900162;Ben\n12;Eve\n+44 7700 900161;Zoë again\n'
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: windows1252(rows) }
  await page.getByLabel(/Drop a CSV/).setInputFiles(file)
  await page.getByText('Read as windows-1252, separated by semicolons, with the columns mobile, first.').waitFor()
  await comesFrom('Text {{1}}', 'row.first')
  await page.getByText('Only today: Zoë off everything').waitFor()
  await press('Create and check')
  await page.waitForURL(/cmp_/)
  await badge('ready')
  await page.getByText('1: twice in the list').waitFor()
  await press('Show the first')
  await page.getByRole('table', { name: 'Refused recipients' }).getByText('12').first().waitFor()
  await press('Schedule')
  await confirm('Schedule')
  await badge('scheduled')
  await press('Cancel')
  await confirm('Cancel the campaign')
  await badge('cancelled')
})

test('a file whose encoding changes is refused before anything is created, unless a person names its encoding', async () => {
  await page.goto('/console/campaigns/new')
  await page.getByLabel('A file', { exact: true }).check()
  const rows = `mobile\tfirst\n${'+44 7700 900161\tZoë\n'.repeat(100_000)}`
  const buffer = Buffer.concat([Buffer.from(rows), windows1252('+44 7700 900162\tJosé\n')])
  const field = page.getByLabel(/Drop a CSV/)
  await field.setInputFiles({ name: 'people.txt', mimeType: 'text/plain', buffer })
  await page.getByRole('alert').getByText('line 100002, character 20 is not UTF-8').waitFor()
  await page.getByText('Letters or columns look wrong?').click()
  await page.getByLabel('Encoding').selectOption('windows-1250')
  await page.getByText('Read as windows-1250, separated by tabs, with the columns mobile, first.').waitFor()
  await page.getByLabel('Columns are separated by').selectOption(';')
  await page.getByText('Read as windows-1250, separated by semicolons').waitFor()
  await field.setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('PK\x03\x04 sheet1.xml') })
  await page.getByRole('alert').getByText('the file is a workbook; save the sheet as CSV').waitFor()
})

test.each(EXPORTS)('a campaign for what $program writes shows the letters that its people will get', async (file) => {
  await writeCampaign(file.program)
  await page.getByLabel('A file', { exact: true }).check()
  const choose = page.getByLabel(/Drop a CSV/)
  await choose.setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: file.bytes })
  await page.getByText(`Read as ${file.encoding}, separated by`).waitFor()
  await comesFrom('Text {{1}}', 'row.name')
  await page.getByText(`Only today: ${file.names[0]} off everything`).waitFor()
  await press('Create and check')
  await page.waitForURL(/cmp_/)
  await badge('ready')
  await page.getByText('2 recipients passed.').waitFor()
})

test('a running campaign is paused with a reason, resumed, cancelled, and run again for those who got nothing', async () => {
  await world.api('POST', '/admin/lanes/1/rate', { rate: 0.2 })
  await writeCampaign('Slow')
  await page.getByRole('group', { name: 'Everybody on one of these lists' }).getByRole('checkbox').first().check()
  await fill('Text {{1}}', '20 %')
  await press('Create and check')
  await badge('ready')
  await press('Start now')
  await confirm('Start now')
  await badge('running')
  await press('Pause')
  await page.getByLabel('Reason').fill('a typo')
  await confirm('Pause the campaign')
  await badge('paused')
  await page.getByText('a typo').first().waitFor()
  await press('Resume')
  await confirm('Resume')
  await badge('running')
  // One that runs while its lane stands says so, and leads there; so does the overview.
  await world.api('POST', '/admin/lanes/1/pause', { reason: 'under review' })
  await page.getByText('Why it waits: Its sender is paused: under review. Lane 1').waitFor()
  expect(await page.getByRole('link', { name: 'Lane 1' }).getAttribute('href')).toBe('/console/lanes/1')
  const address = page.url()
  await page.goto('/console')
  await page.getByText('Lane 1: Paused. under review').waitFor()
  await world.api('POST', '/admin/lanes/1/resume')
  await page.goto(address)
  await press('Cancel')
  await confirm('Cancel the campaign')
  await badge('cancelled')
  await page.getByText('adds up').waitFor()
  await world.api('POST', '/admin/lanes/1/rate', { rate: 80 })
  await press('Run again')
  await page.getByLabel('To those whose message is').selectOption('cancelled')
  await confirm(/^Send to/)
  await page.waitForURL((url) => /cmp_/.test(url.pathname))
  await badge('done')
})

test('a copy of a campaign has its values and its recipients', async () => {
  const list = await world.api('GET', '/campaigns?limit=50')
  const id = /"id":"(cmp_[^"]+)","name":"Spring sale"/.exec(JSON.stringify(list))?.[1]
  await page.goto(`/console/campaigns/${id}`)
  await page.getByRole('link', { name: 'Make a copy' }).click()
  await page
    .getByRole('group', { name: /^Code of the button/ })
    .getByLabel('Value')
    .waitFor()
  expect(await page.getByLabel('Name, for your colleagues').inputValue()).toBe('Spring sale (copy)')
  expect(
    await page
      .getByRole('group', { name: /^Code of/ })
      .getByLabel('Value')
      .inputValue(),
  ).toBe('SAVE20')
  expect(
    await page
      .getByRole('group', { name: 'Everybody on one of these lists' })
      .getByRole('checkbox')
      .first()
      .isChecked(),
  ).toBe(true)
})

test('a file is uploaded, moved to a new folder, thrown away and restored', async () => {
  await page.goto('/console/gallery')
  await press('New folder')
  await page.getByLabel('Name').fill('Autumn')
  await confirm('Create')
  await page.getByRole('link', { name: /^Autumn/ }).waitFor()
  const file = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }
  await page.getByLabel('Upload a file').setInputFiles(file)
  await said('note.txt is uploaded.')
  await page.getByLabel('Choose note.txt').check()
  await press('Move 1 file')
  await page.getByLabel('To the folder').selectOption({ label: 'Autumn' })
  await confirm('Move')
  await said('1 file(s) moved')
  await page.getByRole('link', { name: /^Autumn/ }).click()
  await page.getByLabel('Choose note.txt').check()
  await press('Delete 1 file')
  await confirm('Move to the trash')
  await page.getByRole('link', { name: 'Trash' }).click()
  await press('Restore note.txt')
  await said('back in its folder')
})

test('the activity names who paused the lane', async () => {
  await page.goto('/console/activity')
  const row = page.getByRole('row').filter({ hasText: 'lane.pause' }).first()
  await row.getByText('Ada at the console').waitFor()
  expect(textAt(await world.api('GET', '/admin/activity?limit=1'), ['data', '0', 'actor', 'key_name'])).not.toBe('')
})

test('nothing of all this made the page fail or ask another host', () => {
  expect(tab.faults).toEqual([])
})
