// Pins: what people do in the console is done: lanes, messages, campaigns, gallery, contacts, templates, senders, keys. Each
// act asks first, and what the server knows afterwards is what was asked for.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { withConsoleTab } from '../support/console-tab.ts'
import { textAt } from '../support/console-world.ts'
import { EXPORTS, windows1252 } from '../support/spreadsheet-exports.ts'

const tab = withConsoleTab()

const { press, confirm, dialog, notice, badge } = tab

test('the first message is sent from the page that offers it, and is shown being delivered', async () => {
  await tab.page.goto('/console')
  await tab.page.getByRole('link', { name: 'Send the first message' }).click()
  await tab.page.getByLabel('To', { exact: true }).fill('+447700900123')
  await press('Send it')
  await tab.page.getByText('It has arrived.').waitFor()
  await tab.page.getByText('Evidence: it is on the person’s device.').waitFor()
})

test('a message is sent from the chosen sender', async () => {
  await tab.page.goto('/console/start')
  const sender = tab.page.getByLabel('Sender', { exact: true })
  await sender.getByRole('option').nth(2).waitFor({ state: 'attached' })
  const [byDefault, ...named] = await sender.getByRole('option').allInnerTexts()
  expect([byDefault, named.length]).toEqual(['The default sender', 2])
  await sender.selectOption({ index: 2 })
  await tab.page.getByLabel('To', { exact: true }).fill('+447700900127')
  await press('Send it')
  await tab.page.getByText('It has arrived.').waitFor()
  const address = await tab.page.getByRole('link', { name: 'See the message' }).getAttribute('href')
  expect(address).toMatch(/^\/console\/messages\/msg_2_/)
})

test('a lane is paused with a reason, shows it, gets another rate and is resumed', async () => {
  await tab.page.goto('/console/lanes')
  await press(/^Pause lane 1/)
  await tab.page.getByLabel('Reason').fill('stock-taking')
  await confirm('Pause the lane')
  await tab.page.getByRole('row', { name: /^1 / }).getByText('stock-taking').waitFor()
  await tab.page.goto('/console/lanes/1')
  await badge('Paused')
  await press('Change rate')
  await tab.page.getByText('Now 80 per second; 0 messages wait.').waitFor()
  // As a person types who has not touched the field: what stood there is replaced.
  await tab.page.keyboard.type('40')
  await confirm('Change the rate')
  await notice('40 per second')
  const lanes = await tab.world.api('GET', '/admin/lanes')
  expect(lanes).toMatchObject({ data: [{ lane: 1, paused: true, paused_for: 'stock-taking', rate: 40 }, {}] })
})

test('what does not exist is reported once, and nothing on the page keeps loading', async () => {
  await tab.page.goto('/console/messages/msg_1_nope')
  await tab.page.getByText('The message does not exist.').waitFor()
  await tab.page.getByText('Not loaded').waitFor()
  expect(await tab.page.getByText('Loading').count()).toBe(0)
})

test('a waiting message is cancelled, shows that in its history, and is sent again', async () => {
  const id = await tab.world.send('+447700900125', 'to be cancelled')
  await tab.page.goto(`/console/messages/${id}`)
  await tab.page.getByText('Why it waits').waitFor()
  await press('Cancel')
  await confirm('Cancel this message')
  await badge('cancelled')
  await press('Send again')
  await confirm('Send this message again')
  await badge('queued')
  await tab.page.goto('/console/lanes/1')
  await press(/^Resume/)
  await confirm('Resume')
  await tab.world.reaches(id, 'delivered')
})

test('a dialog closed with Escape does nothing', async () => {
  await tab.page.goto('/console/lanes/1')
  await press(/^Pause/)
  await tab.page.keyboard.press('Escape')
  await tab.page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await tab.world.api('GET', '/admin/lanes')).toMatchObject({ data: [{ paused: false }, {}] })
})

test('a search is kept in the address, and all matches are requeued after their count was shown', async () => {
  const ids = [await tab.world.send('+15550100101', 'one'), await tab.world.send('+15550100101', 'two')]
  for (const id of ids) await tab.world.reaches(id, 'failed')
  await tab.page.goto('/console/messages')
  await tab.page.getByLabel('State').selectOption('failed')
  await press('Search')
  await tab.page.waitForURL(/\?state=failed/)
  await tab.page.reload()
  await tab.page.getByRole('table').getByText('failed').first().waitFor()
  await press('Requeue all that match')
  await tab.page.getByRole('dialog').getByText('2 messages match').waitFor()
  await confirm('Send 2 messages again')
  await tab.page.getByRole('dialog').getByText('Done: 2 of 2').waitFor()
  await confirm('Close')
})

test('a search by id leads to the message', async () => {
  const id = await tab.world.send('+447700900126', 'found')
  await tab.page.goto('/console/messages')
  await tab.page.getByLabel('Message id').fill(id)
  await press('Search')
  await tab.page.waitForURL(`**/console/messages/${id}`)
  await tab.page.getByText('found').waitFor()
})

const fill = async (group: string | RegExp, value: string): Promise<void> =>
  tab.page.getByRole('group', { name: group }).getByLabel('Value').fill(value)

async function writeCampaign(name: string): Promise<void> {
  await tab.page.goto('/console/campaigns/new')
  await tab.page.getByLabel('Name, for your colleagues').fill(name)
  await tab.page.getByLabel('Sender', { exact: true }).selectOption({ index: 1 })
  await tab.page.getByLabel('Template', { exact: true }).selectOption('flash_sale/en_US')
  await fill('Image', 'https://shop.example/spring.png')
  await fill(/^End of the address/, 'today')
  await fill(/^Code of the button/, 'SAVE20')
}
const comesFrom = (group: string, source: string) =>
  tab.page.getByRole('group', { name: group }).getByLabel('Comes from').selectOption(source)

test('a campaign to contacts is written with a preview, tested on one number, checked and started, and its figures add up', async () => {
  await writeCampaign('Spring sale')
  await tab.page.getByRole('group', { name: 'Everybody on one of these lists' }).getByRole('checkbox').first().check()
  await comesFrom('Text {{1}}', 'contact.name')
  await tab.page.getByText(/Only today: .+ off everything/).waitFor()
  await tab.page.getByLabel('To', { exact: true }).fill('+447700900150')
  await press('Send the test')
  await tab.page.getByRole('status').getByText('delivered').waitFor()
  await press('Create and check')
  await tab.page.waitForURL(/cmp_/)
  await badge('ready')
  await press('Start now')
  await tab.page
    .getByRole('dialog')
    .getByText(/\d+ people will get/)
    .waitFor()
  await confirm('Start now')
  await badge('done')
  await tab.page.getByText('adds up').waitFor()
  const download = tab.page.waitForEvent('download')
  await tab.page.getByRole('link', { name: 'CSV' }).click()
  expect((await download).suggestedFilename()).toMatch(/^cmp_.*\.csv$/)
})

test('a campaign to the rows of a file shows its columns and refused rows, is scheduled and cancelled', async () => {
  await writeCampaign('From a file')
  await tab.page.getByLabel('A file', { exact: true }).check()
  const rows = 'mobile;first\n+44 7700 900161;Zoë\n+44 7700 900162;Ben\n12;Eve\n+44 7700 900161;Zoë again\n'
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: windows1252(rows) }
  await tab.page.getByLabel(/Drop a CSV/).setInputFiles(file)
  await tab.page.getByText('Read as windows-1252, separated by semicolons, with the columns mobile, first.').waitFor()
  await comesFrom('Text {{1}}', 'row.first')
  await tab.page.getByText('Only today: Zoë off everything').waitFor()
  await press('Create and check')
  await tab.page.waitForURL(/cmp_/)
  await badge('ready')
  await tab.page.getByText('1 listed twice').waitFor()
  await press('Show the first')
  await tab.page.getByRole('table', { name: 'Refused recipients' }).getByText('12').first().waitFor()
  await press('Schedule')
  await confirm('Schedule')
  await badge('scheduled')
  await press('Cancel')
  await confirm('Cancel the campaign')
  await badge('cancelled')
})

test('a file dropped on the field is read like a chosen one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-drop-'))
  const path = join(folder, 'people.csv')
  writeFileSync(path, 'mobile;first\n+44 7700 900161;Ada\n')
  await tab.page.goto('/console/campaigns/new')
  await tab.page.getByLabel('A file', { exact: true }).check()
  const box = await tab.page.getByLabel(/Drop a CSV/).boundingBox()
  if (box === null) throw new Error('the field is not shown')
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  const devtools = await tab.page.context().newCDPSession(tab.page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    const data = { items: [], files: [path], dragOperationsMask: 1 }
    await devtools.send('Input.dispatchDragEvent', { type, ...at, data })
  }
  await tab.page.getByText('separated by semicolons, with the columns mobile, first.').waitFor()
  rmSync(folder, { recursive: true })
})

test('a file whose encoding changes is refused before anything is created, unless a person names its encoding', async () => {
  await tab.page.goto('/console/campaigns/new')
  await tab.page.getByLabel('A file', { exact: true }).check()
  const rows = `mobile\tfirst\n${'+44 7700 900161\tZoë\n'.repeat(100_000)}`
  const buffer = Buffer.concat([Buffer.from(rows), windows1252('+44 7700 900162\tJosé\n')])
  const field = tab.page.getByLabel(/Drop a CSV/)
  await field.setInputFiles({ name: 'people.txt', mimeType: 'text/plain', buffer })
  await tab.page.getByRole('alert').getByText('line 100002, character 20 is not UTF-8').waitFor()
  await tab.page.getByText('Letters or columns look wrong?').click()
  await tab.page.getByLabel('Encoding').selectOption('windows-1250')
  await tab.page.getByText('Read as windows-1250, separated by tabs, with the columns mobile, first.').waitFor()
  await tab.page.getByLabel('Columns are separated by').selectOption(';')
  await tab.page.getByText('Read as windows-1250, separated by semicolons').waitFor()
  await field.setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('PK\x03\x04 sheet1.xml') })
  await tab.page.getByRole('alert').getByText('the file is a workbook; save the sheet as CSV').waitFor()
})

test.each(EXPORTS)('a campaign for a file from $program shows the letters that its people will get', async (file) => {
  await writeCampaign(file.program)
  await tab.page.getByLabel('A file', { exact: true }).check()
  const choose = tab.page.getByLabel(/Drop a CSV/)
  await choose.setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: file.bytes })
  await tab.page.getByText(`Read as ${file.encoding}, separated by`).waitFor()
  await comesFrom('Text {{1}}', 'row.name')
  await tab.page.getByText(`Only today: ${file.names[0]} off everything`).waitFor()
  await press('Create and check')
  await tab.page.waitForURL(/cmp_/)
  await badge('ready')
  await tab.page.getByText('2 recipients passed.').waitFor()
})

test('a running campaign is paused with a reason, resumed, cancelled, and run again for people who got nothing', async () => {
  await tab.world.api('POST', '/admin/lanes/1/rate', { rate: 0.02 })
  await writeCampaign('Slow')
  await tab.page.getByRole('group', { name: 'Everybody on one of these lists' }).getByRole('checkbox').first().check()
  await fill('Text {{1}}', '20 %')
  await press('Create and check')
  await badge('ready')
  await press('Start now')
  await confirm('Start now')
  await badge('running')
  await press('Pause')
  await tab.page.getByLabel('Reason').fill('a typo')
  await confirm('Pause the campaign')
  await badge('paused')
  await tab.page.getByText('a typo').first().waitFor()
  await press('Resume')
  await confirm('Resume')
  await badge('running')
  // One that runs while its lane stands says so, and leads there; so does the overview.
  await tab.world.api('POST', '/admin/lanes/1/pause', { reason: 'under review' })
  await tab.page.getByText('Why it waits: Its sender is paused: under review. Lane 1').waitFor()
  expect(await tab.page.getByRole('link', { name: 'Lane 1' }).getAttribute('href')).toBe('/console/lanes/1')
  const address = tab.page.url()
  await tab.page.goto('/console')
  await tab.page.getByText('Lane 1: Paused. under review').waitFor()
  await tab.world.api('POST', '/admin/lanes/1/resume')
  await tab.page.goto(address)
  await press('Cancel')
  await confirm('Cancel the campaign')
  await badge('cancelled')
  await tab.page.getByText('adds up').waitFor()
  await tab.world.api('POST', '/admin/lanes/1/rate', { rate: 80 })
  const people = z
    .object({ data: z.array(z.object({ phone: z.string() })) })
    .parse(await tab.world.api('GET', `/contacts?tag=${tab.world.demo.tag_ids[0]}`)).data
  const last = people.at(-1)?.phone
  await tab.world.api('POST', '/opt-outs', { person: last })
  await press('Run again')
  await tab.page.getByLabel('To those whose message is').selectOption('cancelled')
  await dialog().getByText('1 person left out:').waitFor()
  await dialog().getByText('1 opted out of advertising').waitFor()
  await tab.page.keyboard.press('Escape')
  await tab.world.api('DELETE', `/opt-outs/${last}`)
  await press('Run again')
  await tab.page.getByLabel('To those whose message is').selectOption('cancelled')
  await tab.page
    .getByRole('dialog')
    .getByText(/^\d+ of \d+ people would get it\.$/)
    .waitFor()
  await confirm(/^Send to \d+ people$/)
  await tab.page.waitForURL((url) => /cmp_/.test(url.pathname))
  await tab.page
    .locator('h1')
    .getByText(/ \(run 2\)/)
    .waitFor()
  await badge('done')
})

test('a copy of a campaign has its values and its recipients', async () => {
  const list = await tab.world.api('GET', '/campaigns?limit=50')
  const id = /"id":"(cmp_[^"]+)","name":"Spring sale"/.exec(JSON.stringify(list))?.[1]
  await tab.page.goto(`/console/campaigns/${id}`)
  await tab.page.getByRole('link', { name: 'Make a copy' }).click()
  await tab.page
    .getByRole('group', { name: /^Code of the button/ })
    .getByLabel('Value')
    .waitFor()
  expect(await tab.page.getByLabel('Name, for your colleagues').inputValue()).toBe('Spring sale (copy)')
  expect(
    await tab.page
      .getByRole('group', { name: /^Code of/ })
      .getByLabel('Value')
      .inputValue(),
  ).toBe('SAVE20')
  expect(
    await tab.page
      .getByRole('group', { name: 'Everybody on one of these lists' })
      .getByRole('checkbox')
      .first()
      .isChecked(),
  ).toBe(true)
})

test('a file is uploaded, moved to a new folder, thrown away and restored', async () => {
  await tab.page.goto('/console/gallery')
  await press('New folder')
  await tab.page.getByLabel('Name').fill('Autumn')
  await confirm('Create')
  await tab.page.getByRole('link', { name: /^Autumn/ }).waitFor()
  const file = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') }
  await press('Upload a file')
  await tab.page.getByRole('dialog').getByLabel('File').setInputFiles(file)
  await confirm('Upload')
  await notice('note.txt is uploaded.')
  await tab.page.getByLabel('Choose note.txt').check()
  await press('Move 1 file')
  await tab.page.getByLabel('To the folder').selectOption({ label: 'Autumn' })
  await confirm('Move')
  await notice('1 file(s) moved')
  await tab.page.getByRole('link', { name: /^Autumn/ }).click()
  await tab.page.getByLabel('Choose note.txt').check()
  await press('Delete 1 file')
  await confirm('Move to the trash')
  await tab.page.getByRole('link', { name: 'Trash' }).click()
  await press('Restore note.txt')
  await notice('back in its folder')
})

test('the activity names who paused the lane', async () => {
  await tab.page.goto('/console/activity')
  const row = tab.page.getByRole('row').filter({ hasText: 'lane.pause' }).first()
  await row.getByText('Ada at the console').waitFor()
  expect(textAt(await tab.world.api('GET', '/admin/activity?limit=1'), ['data', '0', 'actor', 'key_name'])).not.toBe('')
})

test('all of this causes no error on the page and no request to another host', () => {
  expect(tab.faults).toEqual([])
})
