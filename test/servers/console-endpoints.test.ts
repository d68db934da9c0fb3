// Pins: an endpoint of events is added, tested, changed, sent a replay, turned off and removed in the console;
// its secret is shown once, and what it answered is there to be seen. Real: the service, a browser, a receiver over HTTP.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTab, signIn } from '../support/browser.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { HOSTILE } from '../support/console-world.ts'
import { answerWith, type EventReceiver, startReceiver, take } from '../support/event-receiver.ts'
import { eventually } from '../support/wait.ts'

/** The beginning of HOSTILE: of what follows, control characters are not kept. */
const SHOWN = '<img src=x onerror="document.title=`pwned`"><b>bold</b> ⟨RLO⟩gnirts'

let receiver: EventReceiver
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver?.close())
const tab = withConsoleTab({
  LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8',
  LANEWAY_EVENTS_RETRY_SECONDS: '1,1,1,1,1,1',
})

const { press, dialog, confirm, notice, badge } = tab
const deliveries = () => tab.page.getByRole('table', { name: 'Deliveries' }).getByRole('row')

/** The secret of the dialog that shows it once. */
async function shownOnce(): Promise<string> {
  const secret = (await dialog().locator('.secret code').textContent()) ?? ''
  expect(secret).toMatch(/^whsec_/)
  await confirm('I have kept it')
  expect(await tab.page.content()).not.toContain(secret)
  return secret
}

test('an endpoint at a forbidden address is refused with the reason, and added at a permitted one', async () => {
  await tab.page.goto('/console/endpoints')
  await tab.page.getByText('No address receives events yet.').waitFor()
  await press('Add an endpoint')
  await dialog().getByLabel('Address').fill('http://10.0.0.1/hook')
  await confirm('Add the endpoint')
  await dialog().getByRole('alert').waitFor()
  await dialog().getByLabel('Address').fill(receiver.url)
  await dialog().getByLabel('message.sent').check()
  await confirm('Add the endpoint')
  receiver.secrets = [await shownOnce()]
  await tab.page.getByRole('link', { name: receiver.url }).click()
  await badge('on')
  await tab.page.getByText('Nothing was delivered within the last 7 days.').waitFor()
})

test('a test event is sent, and its answer is shown', async () => {
  await press('Send a test')
  await deliveries().filter({ hasText: 'endpoint.test' }).filter({ hasText: '204' }).waitFor()
  expect(receiver.events().map(({ type }) => type)).toEqual(['endpoint.test'])
})

test('the answer of a receiver is shown as text, with the time of the next try', async () => {
  receiver.behave = answerWith(503, {}, HOSTILE)
  const id = await tab.world.send('+447700900124', 'Spring is here')
  await tab.world.reaches(id, 'delivered')
  await deliveries().filter({ hasText: '503' }).getByText(SHOWN).first().waitFor()
  expect(await tab.page.locator('main img, main b').count()).toBe(0)
  await badge('failing')
  await tab.page.getByText('It began to fail').waitFor()
  await tab.page.getByLabel('Show').selectOption('failed ones')
  await deliveries().filter({ hasText: 'endpoint.test' }).waitFor({ state: 'detached' })
  await tab.page.getByLabel('Show').selectOption('all')
  receiver.behave = take
  // Those before may have been given up meanwhile; a success ends the failing whatever it tells of.
  await press('Send a test')
  await badge('on')
})

test('the secret is rotated, and the endpoint changed', async () => {
  await press('Rotate secret')
  await confirm('Make a new secret')
  receiver.secrets.push(await shownOnce())
  await press('Change')
  await dialog().getByLabel('message.read').check()
  await dialog().getByLabel('With numbers and texts').check()
  await confirm('Change the endpoint')
  await notice('The endpoint is changed.')
  await tab.page.getByText('With numbers and texts.').waitFor()
})

test('events are replayed, after they were counted', async () => {
  const taken = receiver.taken.length
  await press('Replay')
  await confirm('Count the events')
  await dialog().getByText('Nothing has been sent yet.').waitFor()
  expect(receiver.taken).toHaveLength(taken)
  await confirm(/^Send \d+ events? again$/)
  await dialog()
    .getByText(/^Done: [1-9]\d* events? w/)
    .waitFor()
  await confirm('Close')
  await eventually(async () => receiver.taken.length > taken, 'the receiver got the events')
})

test('an endpoint is turned off and on again, and removed', async () => {
  await press('Turn off')
  await confirm('Turn it off')
  await badge('off')
  await press('Turn on')
  await confirm('Turn it on')
  await notice('The endpoint is on.')
  await press('Remove')
  await confirm('Remove it')
  await tab.page.getByText('No address receives events yet.').waitFor()
  expect(tab.faults).toEqual([])
})

test('a key without the permission for events gets no link to the page', async () => {
  const other = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(other.page, await tab.world.keyWith(['messages:read'], 'without events'))
  expect(await other.page.getByRole('link', { name: 'Event endpoints' }).count()).toBe(0)
  await other.context.close()
})
