// How soon a person can use the overview: a real browser opens it, signed in, as after a click on a bookmark.
import { existsSync } from 'node:fs'
import { CHROMIUM, openTab, signIn, startBrowser } from '../test/support/browser.ts'
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
