// `node scripts/screenshots.mjs`: makes the pictures of docs/guides/console.md anew. Starts the demo in a folder of its own, sends a
// few messages and a campaign, and takes the pages as Debian's Chromium shows them.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { giveUp, prepareBuild, root } from './prepare.mjs'

const READY_MS = 120_000
/** Until the campaign of the made-up traffic is half done. */
const CAMPAIGN_MS = 40_000
const TRAFFIC_MS = 90_000
const images = join(root, 'docs/images')
mkdirSync(images, { recursive: true })
prepareBuild()
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-screenshots-'))
const env = { ...process.env, PORT: '0', LANEWAY_DATA_DIR: dataDir, SIMULATOR_READ_MS: '3000' }
const app = spawn(process.execPath, [join(root, 'scripts/run.mjs'), 'start'], { env, stdio: 'ignore' })
try {
  const demo = await readyDemo()
  const key = keyOf(demo)
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  const context = await browser.newContext({
    baseURL: demo.base_url,
    viewport: { width: 1100, height: 720 },
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  await takeAll(await context.newPage(), demo, key)
  await browser.close()
} finally {
  app.kill('SIGTERM')
  await new Promise((resolve) => app.once('exit', resolve))
  rmSync(dataDir, { recursive: true, force: true })
}

/** Resolves with demo.json once everything runs. */
async function readyDemo() {
  const path = join(dataDir, 'demo.json')
  for (const begun = Date.now(); !existsSync(path); await wait(200)) {
    if (app.exitCode !== null || Date.now() - begun > READY_MS) giveUp('The demo did not start.')
  }
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Makes a key that may do everything in the demo's account. */
function keyOf({ account_id: account, redis_url: redisUrl }) {
  const permissions = 'messages:send,messages:read,contacts:read,contacts:write,gallery,events,admin'
  const args = ['keys', 'create', '--account', account, '--permissions', permissions, '--name', 'Ada', '--json']
  const cli = spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...args.map(String)], {
    env: { ...env, REDIS_URL: redisUrl },
    encoding: 'utf8',
  })
  if (cli.status !== 0) giveUp(`No key could be made: ${cli.stderr}`)
  return JSON.parse(cli.stdout).data.key
}

/** Signs in, makes something to look at, and takes every picture. */
async function takeAll(page, demo, key) {
  await page.goto('/console')
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page.goto('/console/start')
  await page.getByRole('button', { name: 'Send it' }).click()
  await page.getByText('It has arrived.').waitFor()
  await page.getByRole('link', { name: 'See the message' }).click()
  await take(page, 'message')
  await page.goto('/console/campaigns/new')
  await fillCampaign(page, demo)
  await take(page, 'campaign-new')
  await page.getByRole('button', { name: 'Create and check' }).click()
  await page.getByRole('button', { name: 'Start now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Start now' }).click()
  await page.getByText('done', { exact: true }).first().waitFor()
  await page.goto('/console')
  await page.getByRole('switch', { name: 'Made-up traffic' }).click()
  await wait(CAMPAIGN_MS)
  await page.goto('/console/campaigns')
  await page
    .getByRole('link', { name: /made up/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'Results' }).waitFor()
  await take(page, 'campaign')
  await page.goto('/console')
  // So long that lines can be seen on the chart, which has a point a minute.
  await wait(TRAFFIC_MS)
  await page.getByRole('heading', { name: 'Failures of the last hour' }).waitFor()
  await page.getByRole('button', { name: 'Last 10 min' }).click()
  await page.evaluate("document.querySelector('[role=switch]').closest('section').remove()")
  // All of it: the lanes, the campaigns and what failed as well.
  await page.setViewportSize({ width: 1220, height: 980 })
  await take(page, 'overview')
}

/** Fills the form of a campaign in as a person would. */
async function fillCampaign(page, { sender }) {
  await page.getByLabel('Name, for your colleagues').fill('Spring sale')
  await page.getByLabel('Sender', { exact: true }).selectOption({ index: 1 })
  await page.getByLabel('Template', { exact: true }).selectOption('flash_sale/en_US')
  await page.getByRole('group', { name: 'Everybody on one of these lists' }).getByRole('checkbox').first().check()
  const field = (name) => page.getByRole('group', { name })
  await field('Image').getByLabel('Value').fill('https://shop.example/spring.png')
  await field('Text {{1}}').getByLabel('Value').fill('20 %')
  await field('End of the address').getByLabel('Value').fill(sender.slice(-4))
  await field('Code of the button').getByLabel('Value').fill('SAVE20')
  await page.locator('h1').click()
}

/** Takes one picture, once everything on the page has been drawn. */
async function take(page, name) {
  await wait(1_500)
  const path = join(images, `console-${name}.png`)
  await page.screenshot({ path })
  console.error(`${path}: ${Math.round(statSync(path).size / 1024)} KB`)
}
