// Pins: what the console says while Laneway or its Redis is away, and that it goes on by itself when they are back: pages
// are loaded again, what somebody pressed is not done later. Real: npm start, Redis, a browser, connections that break.
import { createConnection, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openTab, signIn, type Tab } from '../support/browser.ts'
import { acts } from '../support/console-tab.ts'
import { type ConsoleWorld, startConsoleWorld } from '../support/console-world.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

/** A way to the producer that can be cut. */
async function startWay(to: URL) {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) return client.destroy()
    const producer = createConnection(Number(to.port), to.hostname)
    for (const [one, other] of [
      [client, producer],
      [producer, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
    return undefined
  })
  const port = await listen(server)
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    mend() {
      isCut = false
    },
    close() {
      cut()
      server.close()
    },
  }
}

let world: ConsoleWorld
let way: Awaited<ReturnType<typeof startWay>>
let tab: Tab
let page: Page
let redisPid: number
beforeAll(async () => {
  world = await startConsoleWorld()
  redisPid = Number(/process_id:(\d+)/.exec(await world.redis.info('server'))?.[1])
  way = await startWay(new URL(world.baseUrl))
  tab = await openTab(world.browser, way.url)
  page = tab.page
  await signIn(page, world.key)
})
afterEach(() => {
  way.mend()
  process.kill(redisPid, 'SIGCONT')
})
afterAll(async () => {
  way?.close()
  await world?.close()
})

const { press, confirm, dialog } = acts(() => page)
const isPaused = async (): Promise<unknown> => {
  const lanes = await world.api('GET', '/admin/lanes')
  return Reflect.get(Object(Reflect.get(Object(Reflect.get(Object(lanes), 'data')), '0')), 'paused')
}

test('a page opened while Redis is away says so, and loads by itself when Redis is back', async () => {
  process.kill(redisPid, 'SIGSTOP')
  await page.goto('/console/lanes')
  await page.getByText('cannot reach its storage right now').getByText('The page tries again by itself.').waitFor()
  expect(await page.getByLabel('Key', { exact: true }).count()).toBe(0)
  process.kill(redisPid, 'SIGCONT')
  await page.getByRole('table', { name: 'Lanes' }).waitFor()
  expect(await page.getByText('cannot reach its storage').count()).toBe(0)
})

test('a person who is not signed in is asked for a key once Redis is back, and not before', async () => {
  const stranger = await openTab(world.browser, way.url)
  process.kill(redisPid, 'SIGSTOP')
  await stranger.context.addCookies([{ name: 'laneway_session', value: 'x'.repeat(43), url: way.url }])
  await stranger.page.goto('/console')
  await stranger.page.getByText('The page tries again by itself.').waitFor()
  process.kill(redisPid, 'SIGCONT')
  await stranger.page.getByLabel('Key', { exact: true }).waitFor()
  expect(await stranger.page.getByText('cannot reach its storage').count()).toBe(0)
  await stranger.context.close()
})

test('a button pressed while Laneway is away reports that nothing was done, and nothing is done later', async () => {
  await page.goto('/console/lanes')
  await press(/^Pause lane 1/)
  await page.getByLabel('Reason').fill('stock-taking')
  let asked = 0
  page.on('request', (request) => {
    if (request.method() === 'POST') asked += 1
  })
  way.cut()
  await confirm('Pause the lane')
  const away = dialog().getByRole('alert')
  await away
    .getByText('Laneway cannot be reached. Nothing was changed, as far as the page knows. Press again.')
    .waitFor()
  expect(await dialog().getByText('by itself').count()).toBe(0)
  way.mend()
  await dialog().getByRole('status').getByText('Laneway can be reached again.').waitFor()
  expect(await away.count()).toBe(0)
  expect([await isPaused(), asked]).toEqual([false, 1])
  await confirm('Pause the lane')
  await dialog().waitFor({ state: 'detached' })
  expect(await isPaused()).toBe(true)
})

test('a button pressed while Redis is away is refused, and the refusal disappears when Redis is back', async () => {
  await page.goto('/console/lanes')
  await press(/^Resume lane 1/)
  process.kill(redisPid, 'SIGSTOP')
  await confirm('Resume')
  await dialog().getByRole('alert').getByText('cannot reach its storage right now').waitFor()
  process.kill(redisPid, 'SIGCONT')
  await dialog().getByRole('status').getByText('Laneway can be reached again.').waitFor()
  expect(await dialog().getByRole('alert').count()).toBe(0)
  await confirm('Resume')
  await dialog().waitFor({ state: 'detached' })
  await eventually(async () => (await isPaused()) === false, 'it is resumed')
})

test('a list shows that it cannot be loaded at present, and loads again by itself', async () => {
  await page.goto('/console/contacts')
  await page.getByRole('table', { name: 'Contacts' }).waitFor()
  way.cut()
  await page.getByRole('button', { name: 'Reload' }).first().click()
  await page
    .getByRole('alert')
    .getByText('Laneway cannot be reached. The page tries again by itself.')
    .first()
    .waitFor()
  way.mend()
  await eventually(async () => (await page.getByText('cannot be reached').count()) === 0, 'it is loaded again')
  await page.getByRole('table', { name: 'Contacts' }).waitFor()
})

test('nothing can be typed until the page knows if it is a demo, whose number would replace the typed one', async () => {
  let told = (): void => undefined
  const isTold = new Promise<void>((resolve) => {
    told = resolve
  })
  await page.route('**/console/demo', async (route) => {
    await isTold
    return route.continue()
  })
  await page.goto('/console/start')
  await page.getByRole('heading', { name: 'Preview' }).waitFor()
  expect(await page.getByLabel('To', { exact: true }).count()).toBe(0)
  told()
  await page.getByLabel('To', { exact: true }).waitFor()
  await page.unroute('**/console/demo')
})

test('a message whose answer was lost is sent once, however often its button is pressed', async () => {
  const to = '+447700900188'
  await page.goto('/console/start')
  await page.getByLabel('To', { exact: true }).fill(to)
  let tries = 0
  await page.route('**/sendservicemessages/sendmessages', async (route) => {
    tries += 1
    if (tries > 1) return route.continue()
    await route.fetch()
    return route.abort()
  })
  await press('Send it')
  await page.locator('form').getByText('Laneway can be reached again.').or(page.getByRole('alert')).first().waitFor()
  await press('Send it')
  const isSent = page.getByRole('button', { name: 'Send another one' })
  // The button moves when the sentence above it changes, and a press may miss it: people press once more. On a slow machine it may
  // have been taken meanwhile, and then there is nothing to press any more.
  const pressAgain = page.locator('main').getByRole('button', { name: 'Send it', exact: true })
  const isThere = () =>
    isSent.waitFor({ timeout: 7_000 }).then(
      () => true,
      () => false,
    )
  await eventually(async () => {
    if (await isThere()) return true
    await pressAgain.click({ timeout: 7_000 }).catch(() => undefined)
    return false
  }, 'it is sent')
  expect(await world.countTo(to)).toBe(1)
  await press('Send another one')
  await eventually(async () => (await world.countTo(to)) === 2, 'the second one')
  await page.unroute('**/sendservicemessages/sendmessages')
})

test('live figures are requested again when their answer broke off in the middle', async () => {
  let asked = 0
  await page.route('**/console/stream*', (route) => route.abort())
  await page.route('**/console/snapshot*', (route) => {
    asked += 1
    return asked > 2 ? route.continue() : route.fulfill({ contentType: 'application/json', body: '{"data":' })
  })
  await page.goto('/console')
  await page.locator('.live').getByText('Polling').waitFor()
  expect(asked).toBeGreaterThan(2)
  await page.unroute('**/console/stream*')
  await page.unroute('**/console/snapshot*')
})

test('a page whose request gets no answer asks again, and shows that meanwhile', async () => {
  let asked = 0
  // As on a line that has gone without a word: the first question is never answered.
  await page.route('**/admin/templates*', (route) => {
    asked += 1
    return asked === 1 ? undefined : route.continue()
  })
  await page.goto('/console/templates')
  await page.getByText('Laneway cannot be reached. The page tries again by itself.').waitFor()
  await page.getByRole('row').filter({ hasText: 'order_update' }).first().waitFor()
  expect(asked).toBeGreaterThan(1)
  await page.unroute('**/admin/templates*')
})

test('none of this causes an error on the page', () => expect(tab.faults).toEqual([]))
