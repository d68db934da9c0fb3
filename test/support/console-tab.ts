// A tab of the console with somebody signed in who may do everything in the account, and what people do in it.
import type { Page } from 'playwright-core'
import { openTab, signIn, type Tab } from './browser.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

/** Starts everything, and signs in. Closing the world closes the tab as well. */
export async function startSignedIn(
  env: Record<string, string> = {},
): Promise<{ world: ConsoleWorld; tab: Tab; page: Page }> {
  const world = await startConsoleWorld(env)
  try {
    const tab = await openTab(world.browser, world.baseUrl)
    await signIn(tab.page, world.key)
    return { world, tab, page: tab.page }
  } catch (error) {
    await world.close()
    throw error
  }
}

/** What people do on a page; `page` is asked when they do it. A name that is a text is the whole name. */
export function acts(page: () => Page) {
  const dialog = () => page().getByRole('dialog')
  const named = (name: string | RegExp) => ({ name, exact: typeof name === 'string' })
  return {
    dialog,
    /** Presses a button of the page, the first one of that name. */
    press: (name: string | RegExp) => page().locator('main').getByRole('button', named(name)).first().click(),
    /** Presses a button of the open dialog. */
    confirm: (name: string | RegExp) => dialog().getByRole('button', named(name)).click(),
    /** Waits until the page says so. */
    said: (text: string | RegExp) => page().locator('.notices').getByText(text).waitFor(),
    /** Waits until the heading has this badge. */
    badge: (word: string) => page().locator('h1').getByText(word, { exact: true }).waitFor(),
  }
}
