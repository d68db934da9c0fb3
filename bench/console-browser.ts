// The console in a real browser: how soon a person can use the overview, as after a click on a bookmark, and tabs of it
// that stay open.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { CHROMIUM, CHROMIUM_FLAGS, openTab, signIn, startBrowser } from '../test/support/browser.ts'
import type { Closing } from './closing.ts'

/** Whether there is a browser to measure with. */
export const hasBrowser = (): boolean => existsSync(CHROMIUM)

/** Milliseconds from the beginning of the navigation until the figures are there and a press of a button has an effect. */
export async function timesUntilUsable(url: string, key: string, times: number, closing: Closing): Promise<number[]> {
  const browser = await startBrowser()
  closing.add(() => browser.close())
  const { page } = await openTab(browser, url)
  await signIn(page, key)
  const found: number[] = []
  for (let i = 0; i < times; i += 1) {
    await page.goto('/console', { waitUntil: 'commit' })
    await page.locator('dl.figures').waitFor()
    await page.getByRole('button', { name: 'Last week' }).click()
    await page.locator('[aria-pressed=true]', { hasText: 'Last week' }).waitFor()
    found.push(Number(await page.evaluate('performance.now()')))
  }
  await browser.close()
  return found
}

/** Tabs of one signed-in browser. */
export interface OpenBrowser {
  /** Its first process; all others of it are of the same session. */
  pid: number
  /** Puts the overview on all tabs and waits for its figures. */
  show(): Promise<void>
  /** Leaves the console without closing the tabs. */
  leave(): Promise<void>
  close(): Promise<void>
}

/** Starts a browser with so many tabs, signed in, that show nothing yet. */
export async function openBrowser(url: string, key: string, tabs: number): Promise<OpenBrowser> {
  const server = await chromium.launchServer({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS })
  const browser = await chromium.connect(server.wsEndpoint())
  const { page, context } = await openTab(browser, url)
  await signIn(page, key)
  const pages = [page]
  while (pages.length < tabs) pages.push(await context.newPage())
  const leave = async (): Promise<void> => void (await Promise.all(pages.map((tab) => tab.goto('about:blank'))))
  await leave()
  return {
    pid: server.process().pid ?? 0,
    // One after the other: a page needs more of a browser's few connections to a host while it loads than afterwards.
    async show() {
      for (const tab of pages) {
        await tab.goto('/console', { waitUntil: 'commit' })
        await tab.locator('dl.figures').waitFor()
      }
    },
    leave,
    async close() {
      await browser.close()
      await server.close()
    },
  }
}
