// A real browser for tests of the console: Debian's Chromium, which scripts/test-servers.mjs installs. Whatever a page
// asks of another host, and whatever its Content-Security-Policy refuses, is kept for the test to look at.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { z } from 'zod'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Everything that WCAG 2.2 asks on levels A and AA. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** Where Debian has it. */
export const CHROMIUM = '/usr/bin/chromium'

export const CHROMIUM_FLAGS = ['--no-sandbox', '--disable-dev-shm-usage']

/** Starts a browser; a test ends it with `close()`. */
export const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS })

export interface Tab {
  page: Page
  context: BrowserContext
  /** Requests to another host than the console's, and errors that the page wrote or threw. */
  faults: string[]
}

/** Opens a tab of its own session at the console of `baseUrl`. */
export async function openTab(
  browser: Browser,
  baseUrl: string,
  look: { dark?: boolean; width?: number; height?: number } = {},
): Promise<Tab> {
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport: { width: look.width ?? 1_280, height: look.height ?? 900 },
    colorScheme: look.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(120_000)
  const faults: string[] = []
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (!['data:', 'blob:'].includes(protocol) && host !== new URL(baseUrl).host) faults.push(`asks ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(`throws ${error.message}`))
  page.on('console', (message) => {
    // An answer that is an error is a line of its own, and no fault of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(message.text())
  })
  return { page, context, faults }
}

/** Signs in as a person does, and waits for the page that follows. */
export async function signIn(page: Page, key: string, path = '/console'): Promise<void> {
  await page.goto(path)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page
    .getByRole('navigation', { name: 'Pages' })
    .or(page.getByRole('button', { name: 'Menu' }))
    .first()
    .waitFor()
}

const found = z.object({
  violations: z.array(z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
})

/** What axe finds wrong with a page: rule, what it asks, and where. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const answer: unknown = await page.evaluate(
    `axe.run(document, { runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} }, resultTypes: ['violations'] })`,
  )
  return found
    .parse(answer)
    .violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
    )
}
