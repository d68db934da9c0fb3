// Pins: the console shows the messages of a person in and out as one conversation and answers from the number that they wrote
// to: with a text while the window is open, with a template while it is not. Real: `npm start`, Chromium.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { accessibilityFaults, openTab, signIn } from '../support/browser.ts'
import { withConsoleTab } from '../support/console-tab.ts'
import { HOSTILE, HOSTILE_SHOWN, textAt } from '../support/console-world.ts'
import { replyWindowOf } from '../support/state/messages.ts'

const PERSON = '447700900155'

const tab = withConsoleTab()
const { press, notice } = tab

const senders = z.object({
  data: z.array(z.object({ id: z.number(), number: z.string(), phone_number_id: z.string().nullable() })),
})
/** The sender that hears what people write. It is not the default one. */
async function hearing() {
  const all = senders.parse(await tab.world.api('GET', '/admin/senders')).data
  const found = all.find(({ phone_number_id: id }) => id !== null)
  if (found === undefined) throw new Error('the demo has no such sender')
  return found
}
async function writes(more: object = {}, from = PERSON): Promise<string> {
  const body = JSON.stringify({ sender: (await hearing()).phone_number_id, from: `+${from}`, ...more })
  const answer = await fetch(`${tab.world.demo.simulator_url}/_inbound`, { method: 'POST', body })
  return textAt(await answer.json(), ['id'])
}
const list = () => tab.page.getByRole('list', { name: 'Messages' })
/** The entry of the conversation with this text. */
const entry = (text: string | RegExp) => list().getByRole('listitem').filter({ hasText: text })
const card = () => tab.page.getByRole('region', { name: 'Conversation' })

const thread = z.object({
  data: z.array(z.looseObject({ id: z.string(), sender: z.string(), kind: z.string(), provider_id: z.string() })),
})
const latest = async (person = PERSON) =>
  thread.parse(await tab.world.api('GET', `/conversations/${person}/messages?limit=1`)).data[0]

test('a person writes, and is answered from the number to which they wrote', async () => {
  await tab.page.goto('/console/conversations')
  await writes({ text: 'Where is my order?', name: 'Ada' })
  await tab.page.getByRole('row').filter({ hasText: 'Where is my order?' }).getByRole('link', { name: PERSON }).click()
  await tab.page.getByRole('heading', { name: `Conversation with ${PERSON}` }).waitFor()
  await entry('Where is my order?').getByText('They wrote').waitFor()
  await card().getByText('Any kind of message may be sent.').waitFor()
  await card()
    .getByText(/Ends in (24 h|23 h 59 min)/)
    .waitFor()
  await card().getByText('the number that they wrote to').waitFor()
  await card().getByLabel('Text').fill('It is on its way.')
  await press('Send the text')
  await notice('The answer is on its way.')
  await entry('It is on its way.')
    .getByText(/^(delivered|read)$/)
    .waitFor()
  expect(await card().getByLabel('Text').inputValue()).toBe('')
  expect(await latest()).toMatchObject({ kind: 'text', sender: (await hearing()).number })
})

test('incoming messages appear by themselves, with file, quoted message, reaction and form answers', async () => {
  const answered = { message_id: (await latest())?.provider_id }
  await entry('It is on its way.').waitFor()
  await writes({ text: 'Thank you!', ...answered })
  await entry('Thank you!').locator('blockquote').getByText('It is on its way.').waitFor()
  await writes({ type: 'reaction', text: '\u{1F44D}', ...answered })
  await entry('It is on its way.').getByText('They reacted: \u{1F44D}').first().waitFor()
  await writes({ type: 'flow_reply', text: JSON.stringify({ flow_token: 't', day: 'Monday', times: ['8', '9'] }) })
  const answers = list().getByRole('table', { name: 'Answers of the form' })
  await answers.getByRole('row').filter({ hasText: 'day' }).getByText('Monday').waitFor()
  await answers.getByRole('row').filter({ hasText: 'times' }).getByText('["8","9"]').waitFor()
  await writes({ type: 'document', text: HOSTILE })
  await entry(HOSTILE_SHOWN).waitFor()
  const saving = tab.page.waitForEvent('download')
  await press('Save the file')
  expect(readFileSync(await (await saving).path(), 'utf8')).toContain('A made-up document')
  expect(await accessibilityFaults(tab.page)).toEqual([])
})

test('the last message is marked as read', async () => {
  const id = (await latest())?.id
  await press('Mark as read')
  await notice('Marked as read.')
  const taken = await (await fetch(`${tab.world.demo.simulator_url}/_receipts`)).json()
  expect(taken).toMatchObject([{ message_id: id }])
})

test('once the reply window has closed only approved templates are offered, and one is sent with its values', async () => {
  const { id, number } = await hearing()
  const paused = { name: 'paused', language: 'en', status: 'PAUSED', category: 'UTILITY' }
  await tab.world.api('POST', '/admin/templates', { ...paused, components: [{ type: 'BODY', text: 'Hello' }] })
  await replyWindowOf(tab.world.redis, id, PERSON).remove()
  await card().getByText('Only templates reach the person, until they write again.').waitFor()
  expect(await card().getByLabel('Text').count()).toBe(0)
  await card().getByLabel('Template').selectOption('order_update/en_US')
  expect(
    await card()
      .getByRole('option', { name: /paused/ })
      .count(),
  ).toBe(0)
  const send = card().getByRole('button', { name: 'Send the template' })
  expect(await send.isDisabled()).toBe(true)
  for (const field of await card().getByRole('textbox').all()) await field.fill('A-1042')
  await card().locator('.bubble').getByText('Order A-1042').waitFor()
  expect(await accessibilityFaults(tab.page)).toEqual([])
  await send.click()
  await notice('The answer is on its way.')
  await entry('your order is on its way')
    .getByText(/^(delivered|read)$/)
    .waitFor()
  expect(await latest()).toMatchObject({ kind: 'template', sender: number })
  await writes({ text: 'I am back' })
  await card().getByLabel('Text').waitFor()
})

test('older messages are loaded page by page, each once, and stay while new ones come in', async () => {
  const person = '447700900156'
  await writes({ text: 'the first' }, person)
  for (let i = 1; i <= 60; i += 1) await tab.world.send(`+${person}`, `spring ${i}.`)
  await tab.page.goto(`/console/conversations?person=${person}`)
  await entry('spring 60.').waitFor()
  expect(await list().getByRole('listitem').count()).toBe(50)
  await card().getByText('the number that they wrote to').waitFor()
  await press('Show older ones')
  await entry('the first').waitFor()
  await writes({ text: 'the last' }, person)
  await entry('the last').waitFor()
  expect(await list().getByRole('listitem').count()).toBe(62)
  expect(await entry('spring 7.').count()).toBe(1)
})

test('a known person who never wrote is shown differently from an unknown one', async () => {
  await tab.page.goto('/console/conversations?person=447700900157')
  await tab.page.getByText('No message with this person.').waitFor()
  await card().getByText('they have not written').waitFor()
})

test('a key that may only read shows the messages and no text box; one for some senders shows theirs', async () => {
  const reader = await openTab(tab.world.browser, tab.world.baseUrl)
  const path = `/console/conversations?person=${PERSON}`
  await signIn(reader.page, await tab.world.keyWith(['messages:read'], 'reader'), path)
  await reader.page.getByText('I am back').waitFor()
  await reader.page.getByText('Any kind of message may be sent.').waitFor()
  expect(await reader.page.getByRole('button', { name: /Send|Mark/ }).count()).toBe(0)
  await reader.context.close()

  const permissions = ['messages:read', 'messages:send'] as const
  const { account_id: account } = tab.world.demo
  const { id } = await hearing()
  const { secret } = await createCredential(tab.world.redis, account, permissions, Date.now(), 0, '', { senders: [id] })
  const bound = await openTab(tab.world.browser, tab.world.baseUrl)
  await signIn(bound.page, secret, path)
  await bound.page.getByText('I am back').waitFor()
  await bound.page.getByLabel('Text').fill('Welcome')
  await bound.page.getByRole('button', { name: 'Send the text' }).click()
  await bound.page.getByRole('listitem').filter({ hasText: 'Welcome' }).waitFor()
  expect([...reader.faults, ...bound.faults, ...tab.faults]).toEqual([])
  await bound.context.close()
})
