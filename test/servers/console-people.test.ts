// Pins: the console for people: by keyboard alone, with a key that may only look, for an operator of many accounts, with a
// stream that breaks, without a network, in a hidden tab, and once the key is revoked.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, revokeCredential } from '../../src/accounts/credentials.ts'
import { openTab, signIn } from '../support/browser.ts'
import { type ConsoleWorld, startConsoleWorld } from '../support/console-world.ts'

let world: ConsoleWorld
/** A message that was delivered. */
let sent: string

beforeAll(async () => {
  world = await startConsoleWorld({ LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' })
  sent = await world.send('+447700900124', 'Spring is here')
  await world.reaches(sent, 'delivered')
})
afterAll(() => world?.close())

const open = (look = {}) => openTab(world.browser, world.baseUrl, look)

test('everything from signing in to pausing a lane works by keyboard alone, and the focus moves to the next step', async () => {
  const { page, context } = await open()
  const focused = () =>
    page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab')
      if (name.test(String(await focused()).trim())) return
    }
    throw new Error(`Tab does not lead to ${name}`)
  }
  await page.goto('/console')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type(world.key)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await tabTo(/^Lanes$/)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/lanes')
  await page.getByRole('table').waitFor()
  expect(await focused()).toMatch(/^Lanes/)
  await tabTo(/^Pause lane 1/)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await focused()).toMatch(/^Pause lane 1/)
  await page.keyboard.press('Space')
  await page.getByRole('dialog').waitFor()
  await tabTo(/^Pause the lane$/)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: /^Resume lane 1/ }).waitFor()
  await world.api('POST', '/admin/lanes/1/resume', {})
  await context.close()
})

test('the first Tab on a page offers to skip to its content', async () => {
  const { page, context } = await open()
  await signIn(page, world.key)
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.id')).toBe('main')
  await context.close()
})

test('a key that may only look shows messages and campaigns, and no button that the server would refuse', async () => {
  const { page, context } = await open()
  await signIn(page, await world.keyWith(['messages:read'], 'reader'))
  await page.getByText('(can only look)').waitFor()
  const main = page.locator('main')
  for (const path of ['', '/lanes', '/lanes/1', '/messages', '/campaigns', '/templates?show=clip%2Fen_US']) {
    await page.goto(`/console${path}`)
    await main.getByRole('heading', { level: 1 }).waitFor()
    await main
      .getByText('Loading …')
      .or(main.getByText('Waiting for the first figures'))
      .first()
      .waitFor({ state: 'detached' })
    const names = await main.getByRole('button').allTextContents()
    expect(
      names.filter((name) => /pause|resume|requeue|cancel|rate|new|start|send|import|delete|remove/i.test(name)),
    ).toEqual([])
    expect(await main.getByRole('link', { name: /new campaign|first message/i }).count()).toBe(0)
  }
  expect(await page.getByRole('link', { name: /Keys|Senders|Gallery|Contacts|endpoints|Activity/ }).count()).toBe(0)
  await context.close()
})

test('a page that a key may not open says so, requests nothing and has no button', async () => {
  const { page, context } = await open()
  await signIn(page, await world.keyWith(['messages:read'], 'reader'))
  const refused: string[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
  })
  const main = page.locator('main')
  const places = ['keys', 'senders', 'gallery', 'campaigns/new', 'start', 'contacts', 'people', 'endpoints', 'limits']
  for (const place of places) {
    await page.goto(`/console/${place}`)
    await main.getByText('Your key does not permit what this page is for.').waitFor()
    expect(await main.getByRole('button').count(), place).toBe(0)
  }
  expect(refused).toEqual([])
  await context.close()
})

test('everything on the pages of a key that may only look is allowed to it', async () => {
  const { page, context } = await open()
  await signIn(page, await world.keyWith(['messages:read'], 'reader'))
  const refused: string[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
  })
  for (const path of ['', '/lanes/1', '/messages', '/campaigns', '/templates?show=clip%2Fen_US']) {
    await page.goto(`/console${path}`)
    await page.locator('main').getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('load')
  }
  await page.getByRole('heading', { name: 'clip' }).waitFor()
  expect(refused).toEqual([])
  await context.close()
})

test('clicking a column title sorts a table, another click reverses it', async () => {
  const { page, context } = await open()
  await signIn(page, world.key, '/console/lanes')
  const names = () => page.getByRole('table', { name: 'Lanes' }).getByRole('rowheader').allInnerTexts()
  const title = page.getByRole('columnheader', { name: 'Lane', exact: true })
  await title.getByRole('button').press('Enter')
  await page.locator('th[aria-sort=ascending]').waitFor()
  const rising = await names()
  expect(rising.map((name) => name.replace(/^\d+ /, ''))).toEqual(['cloud', 'shop'])
  await title.getByRole('button').press('Enter')
  await page.locator('th[aria-sort=descending]').waitFor()
  expect(await names()).toEqual(rising.toReversed())
  await context.close()
})

/** How many pixels are between the number of the first account and its name in the button that chooses it. */
const GAP_BEFORE_NAME = `
  const [button] = document.querySelectorAll('main li button')
  const name = button.querySelector('bdi')
  const number = document.createRange()
  number.setStart(button, 0)
  number.setEndBefore(name)
  name.getBoundingClientRect().left - Math.max(...[...number.getClientRects()].map(({ right }) => right))`

test('an operator sees the lanes of all accounts, and acts for the chosen one', async () => {
  const { secret } = await createCredential(world.redis, 0, ['operator'], Date.now(), 0, 'Olga')
  const { page, context } = await open()
  await signIn(page, secret, '/console/lanes')
  const lanes = page.getByRole('table', { name: 'Lanes' }).getByRole('row')
  await lanes.nth(3).waitFor()
  await page.getByRole('link', { name: 'Messages' }).click()
  await page.getByRole('heading', { name: 'For which account?' }).waitFor()
  await page.getByRole('button', { name: '1 Demo shop' }).waitFor()
  expect(Number(await page.evaluate(GAP_BEFORE_NAME))).toBeGreaterThan(2)
  await page.getByRole('button', { name: 'New account' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Empty shop')
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByText('No message yet.').waitFor()
  await page.getByLabel('Account').selectOption('1')
  await page.getByRole('table').getByText('Spring is here').waitFor()
  await page.getByLabel('Account').selectOption({ label: '3 Empty shop' })
  await page.getByText('No message yet.').waitFor()
  await page.reload()
  await page.getByText('No message yet.').waitFor()
  await context.close()
})

test('the address of a page contains the account of an operator, and an id without one finds it', async () => {
  const { secret } = await createCredential(world.redis, 0, ['operator'], Date.now(), 0, 'Olaf')
  const mine = await open()
  await signIn(mine.page, secret, '/console/messages')
  await mine.page.getByLabel('Account').selectOption('1')
  await mine.page.getByRole('table').getByText('Spring is here').waitFor()
  expect(new URL(mine.page.url()).search).toBe('?account=1')
  await mine.page.getByRole('link', { name: 'Templates' }).click()
  await mine.page.waitForURL('**/console/templates?account=1')
  // What is copied, or opened in another tab.
  const link = mine.page.getByRole('link', { name: 'Messages' })
  await link.click({ button: 'right' })
  expect(await link.getAttribute('href')).toBe('/console/messages?account=1')
  await mine.context.close()

  const colleague = await open()
  await signIn(colleague.page, secret, '/console/messages?state=read&account=1')
  await colleague.page.getByRole('heading', { name: 'Messages' }).waitFor()
  await colleague.page.waitForURL((url) => url.search.includes('account=1') && url.search.includes('state=read'))
  // The field has its accounts only once they are there.
  await expect.poll(() => colleague.page.getByLabel('Account').inputValue()).toBe('1')
  await colleague.page.getByLabel('Account').selectOption('')
  await colleague.page.getByRole('heading', { name: 'For which account?' }).waitFor()
  expect(new URL(colleague.page.url()).searchParams.has('account')).toBe(false)
  await colleague.context.close()

  const third = await open()
  await signIn(third.page, secret, `/console/messages/${sent}`)
  await third.page.getByText('Spring is here').first().waitFor()
  expect(new URL(third.page.url()).search).toBe('?account=1')
  await third.context.close()
})

test('the overview shows an operator the failing event endpoints of all accounts, with links to them', async () => {
  const made = await world.api('POST', '/event-endpoints', {
    url: 'http://127.0.0.1:9/hooks',
    types: ['message.delivered'],
  })
  const { id } = z.object({ data: z.object({ id: z.string() }) }).parse(made).data
  await world.send('+447700900125', 'told of')
  const { secret } = await createCredential(world.redis, 0, ['operator'], Date.now(), 0, 'Otto')
  const { page, context } = await open()
  await signIn(page, secret, '/console')
  await page.getByRole('heading', { name: '1 event endpoint that does not accept events' }).waitFor()
  await page.getByRole('link', { name: 'http://127.0.0.1:9/hooks' }).click()
  await page.waitForURL(`**/console/endpoints/${id}?account=1`)
  await context.close()
})

test('a page without a stream polls, and says so', async () => {
  const { page, context } = await open()
  await page.route('**/console/stream*', (route) => route.abort())
  await signIn(page, world.key)
  await page.getByText('Polling').waitFor()
  await page.getByRole('heading', { name: 'Workers' }).waitFor()
  await context.close()
})

test('without an answer the figures show their age, and with one they are fresh again', async () => {
  const { page, context } = await open()
  await page.route('**/console/stream*', (route) => route.abort())
  await signIn(page, world.key)
  await page.getByText('Polling').waitFor()
  await page.route('**/console/snapshot*', (route) => route.abort())
  await page.getByText(/No connection · figures are \d+ s old/).waitFor({ timeout: 600_000 })
  await page.unroute('**/console/snapshot*')
  await page.getByText(/(Live|Polling) · [12] s old/).waitFor({ timeout: 600_000 })
  await context.close()
})

test('a hidden tab requests nothing until it is visible again', async () => {
  const { page, context } = await open()
  await signIn(page, world.key)
  await page.getByText('Live', { exact: false }).first().waitFor()
  const hide = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await hide(true)
  await page.getByText('Paused', { exact: false }).first().waitFor()
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  // Longer than any page takes between two looks at what moves.
  await page.waitForTimeout(6_000)
  expect(asked).toEqual([])
  await hide(false)
  await page.getByText('Live', { exact: false }).first().waitFor()
  await context.close()
})

test('once the key is revoked the page asks to sign in again, and continues where it was', async () => {
  const { page, context } = await open()
  const { secret, id } = await createCredential(world.redis, world.demo.account_id, ['messages:read'], Date.now())
  await signIn(page, secret, '/console/messages?direction=outbound')
  await page.getByRole('table').waitFor()
  await revokeCredential(world.redis, world.demo.account_id, id)
  await page.getByText('Your session has ended.').waitFor({ timeout: 600_000 })
  await page.getByLabel('Key', { exact: true }).fill(world.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('table').waitFor()
  expect(page.url()).toContain('direction=outbound')
  await context.close()
})

test('a wrong key is refused with a sentence, and signing out ends the session on the server', async () => {
  const { page, context } = await open()
  await page.goto('/console')
  await page.getByLabel('Key', { exact: true }).fill('lw_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').filter({ hasText: 'key' }).waitFor()
  await signIn(page, world.key)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await context.close()
})

test('the colours that a person chooses are kept', async () => {
  const { page, context } = await open()
  await signIn(page, world.key)
  await page.getByLabel('Colours').selectOption('dark')
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark')
  await context.close()
})
