// Pins: every page of the console is there, asks no other host, breaks no rule of its Content-Security-Policy, and has
// nothing that axe finds against WCAG 2.2 AA: in light, in dark and as wide as a phone. Texts from outside stay texts.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DAY_MS } from '../../src/kernel/time-units.ts'
import { keepNotice } from '../../src/reports/notices.ts'
import { accessibilityFaults, openTab, signIn } from '../support/browser.ts'
import {
  type ConsoleWorld,
  HOSTILE,
  HOSTILE_NAME,
  HOSTILE_NAME_SHOWN,
  HOSTILE_SHOWN,
  startConsoleWorld,
  textAt,
} from '../support/console-world.ts'
import { eventually } from '../support/wait.ts'

let world: ConsoleWorld
let failed: string
let campaign: string
let endpoint: string

beforeAll(async () => {
  world = await startConsoleWorld({ LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8' })
  const { api, demo, send, reaches } = world
  // The simulator refuses what goes to this number.
  failed = await send('+15550100101', HOSTILE)
  // Nobody listens there: its page shows attempts that failed.
  const body = { url: `http://127.0.0.1:9/${encodeURIComponent(HOSTILE_NAME)}` }
  endpoint = textAt(await api('POST', '/event-endpoints', body), ['data', 'id'])
  await api('POST', `/event-endpoints/${endpoint}/test`)
  await send('+447700900124', 'Spring is here')
  const send_at = new Date(Date.now() + DAY_MS).toISOString()
  const later = { to: '+447700900125', type: 'text', text: { body: HOSTILE }, send_at }
  await api('POST', '/messages', { ...later, sender: demo.sender })
  await reaches(failed, 'failed')
  const made = await api('POST', '/campaigns', {
    name: HOSTILE,
    sender: demo.sender,
    template: {
      name: 'clip',
      language: { code: 'en_US' },
      components: [{ type: 'HEADER', parameters: [{ type: 'video', video: { link: 'https://shop.example/a.mp4' } }] }],
    },
    recipients: { tags: [demo.tag_ids[0]] },
  })
  campaign = textAt(made, ['data', 'id'])
  await api('POST', `/campaigns/${campaign}/preflight`)
  await eventually(
    async () => textAt(await api('GET', `/campaigns/${campaign}`), ['data', 'state']) === 'ready',
    'preflight',
  )
  await api('POST', `/campaigns/${campaign}/start`)
  await api('POST', '/partners/wp-gallery/manage/folders', { name: HOSTILE_NAME })
  await api('POST', '/admin/lanes/2/pause', { reason: HOSTILE })
  await world.keyWith(['messages:read'], HOSTILE)
  await api('POST', '/opt-outs', { person: '+447700900178' })
  await api('POST', '/admin/portfolios', { name: HOSTILE_NAME, daily_limit: 250 })
  const at = Date.now()
  const template = { name: 'clip', language: 'en_US' }
  const told = { ...{ kind: 'account_alerts', field: 'account_alerts', event: 'PAUSED' }, sentence: HOSTILE, template }
  const about = { account: demo.account_id, waba_id: null, lane: 1, details: { says: HOSTILE } }
  await keepNotice(world.redis, { at, received_at: at, ...told, ...about }, { nowMs: at, isTimed: true })
})
afterAll(() => world?.close())

/** Every page, with a word that is on it once it is there. */
const pages = (): [path: string, word: string | RegExp][] => [
  ['/console', 'Messages per second'],
  ['/console/lanes', 'Find a sender'],
  ['/console/lanes/2', 'Dead letters'],
  ['/console/messages', 'Accepted'],
  ['/console/messages?state=failed&class=transactional', 'Accepted'],
  // A machine that is busy may not have looked through all of them at once.
  ['/console/messages?code=nothing', /No message matches|None so far/],
  [`/console/messages/${failed}`, 'What happened'],
  ['/console/conversations', 'Wrote'],
  ['/console/conversations?person=447700900124', 'You sent'],
  ['/console/campaigns', 'Recipients'],
  [`/console/campaigns/${campaign}`, 'Results'],
  [`/console/campaigns/new?from=${campaign}`, 'Test send'],
  ['/console/scheduled', '447700900125'],
  ['/console/scheduled?until=2000-01-01T00:00:00Z', 'Nothing leaves then.'],
  ['/console/start', 'Preview'],
  ['/console/contacts', 'New contact'],
  [`/console/contacts?tag=${world.demo.tag_ids[0]}`, 'Import into this list'],
  ['/console/templates?show=order_update%2Fen_US', 'Track it'],
  ['/console/gallery', 'spring.png'],
  ['/console/gallery?trash=true', 'Restore'],
  ['/console/senders', 'Verify token'],
  ['/console/portfolios', '0 of 250'],
  ['/console/notices', 'PAUSED'],
  ['/console/notices?template=none', 'No notice matches'],
  ['/console/endpoints', '127.0.0.1:9'],
  [`/console/endpoints/${endpoint}`, 'no answer'],
  [`/console/messages/${world.demo.inbound_message_id}`, 'What the person wrote'],
  ['/console/opt-outs', '447700900178'],
  ['/console/people', 'Whose data?'],
  ['/console/people?person=447700900124', 'Save as a file'],
  ['/console/limits', 'Messages that wait'],
  ['/console/keys', 'Ada at the console'],
  ['/console/activity', 'signed in to the console'],
  ['/console/nowhere', 'Nothing here'],
]

test.each([
  ['light', {}],
  ['dark', { dark: true }],
  ['as wide as a phone', { width: 360, height: 800 }],
])('every page is accessible, requests nothing from another host and has no error: %s', async (_how, look) => {
  const { page, context, faults } = await openTab(world.browser, world.baseUrl, look)
  await page.goto('/console')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const found = (await accessibilityFaults(page)).map((fault) => `sign-in: ${fault}`)
  await signIn(page, world.key)
  for (const [path, word] of pages()) {
    await page.goto(path)
    await page.locator('main').getByText(word).filter({ visible: true }).first().waitFor()
    found.push(...(await accessibilityFaults(page)).map((fault) => `${path}: ${fault}`))
    const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    if (Number(wide) > 0) found.push(`${path}: ${wide} px wider than the screen`)
  }
  await context.close()
  expect({ found, faults }).toEqual({ found: [], faults: [] })
})

test('names, texts and reasons full of HTML, bidi controls and terminal escapes are shown as text', async () => {
  const { page, context, faults } = await openTab(world.browser, world.baseUrl)
  await signIn(page, world.key)
  const shown = async (path: string, text: string): Promise<void> => {
    await page.goto(path)
    await page.locator('main').getByText(text).first().waitFor()
    expect(await page.title()).not.toBe('pwned')
  }
  await shown('/console', HOSTILE_SHOWN)
  await shown('/console/lanes/2', HOSTILE_SHOWN)
  await shown('/console/messages?state=failed', HOSTILE_SHOWN)
  await shown(`/console/messages/${failed}`, HOSTILE_SHOWN)
  await shown('/console/campaigns', HOSTILE_SHOWN)
  await shown(`/console/campaigns/${campaign}`, HOSTILE_SHOWN)
  await shown('/console/keys', HOSTILE_SHOWN)
  await shown('/console/notices', HOSTILE_SHOWN)
  await shown('/console/portfolios', HOSTILE_NAME_SHOWN)
  await page.goto('/console/gallery')
  await page.getByRole('link', { name: HOSTILE_NAME_SHOWN }).waitFor()
  expect(await page.locator('main img[src="x"], main script, main b').count()).toBe(0)
  await context.close()
  expect(faults).toEqual([])
})

test('all scripts of the page together are under 66 KB gzip', () => {
  const folder = 'dist/console/assets'
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const bytes = scripts.map((name) => gzipSync(readFileSync(join(folder, name))).length)
  expect(scripts.length).toBeGreaterThan(0)
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(66 * 1024)
})
