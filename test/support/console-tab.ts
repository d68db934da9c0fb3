// A browser that is signed in to a console of its own, and what a test does there again and again.
import type { Locator, Page } from 'playwright-core'
import { openTab, signIn } from './browser.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

/** What people do on a page. A name that is a text is the whole name. */
export interface Acts {
  /** Presses the first button of this name on the page. */
  press(name: string | RegExp): Promise<void>
  dialog(): Locator
  /** Presses a button of the dialog. */
  confirm(name: string | RegExp): Promise<void>
  /** Waits for a notice. */
  said(text: string | RegExp): Promise<void>
  /** Waits until the heading has this badge. */
  badge(word: string): Promise<void>
  /** Rows of tables that have these words. */
  row(words: string): Locator
}

export interface ConsoleTab extends Acts {
  world: ConsoleWorld
  page: Page
  /** What the page threw, or asked of other hosts. */
  faults: string[]
  close(): Promise<void>
}

/** Acts on a page, which is asked for when they are done, so that a file may name them before it has one. */
export function acts(page: () => Page): Acts {
  const dialog = () => page().getByRole('dialog')
  const named = (name: string | RegExp) => ({ name, exact: typeof name === 'string' })
  return {
    dialog,
    press: (name) => page().locator('main').getByRole('button', named(name)).first().click(),
    confirm: (name) => dialog().getByRole('button', named(name)).click(),
    // On a quick machine the one before still stands there.
    said: (text) => page().locator('.notices').getByText(text).last().waitFor(),
    badge: (word) => page().locator('h1').getByText(word, { exact: true }).waitFor(),
    row: (words) => page().locator('main').getByRole('row').filter({ hasText: words }),
  }
}

/** Starts the demo, opens a tab and signs in with a key that may do everything in the account; `close` ends it. */
export async function startConsoleTab(env: Record<string, string> = {}): Promise<ConsoleTab> {
  const world = await startConsoleWorld(env)
  try {
    const { page, faults } = await openTab(world.browser, world.baseUrl)
    await signIn(page, world.key)
    return { world, page, faults, ...acts(() => page), close: () => world.close() }
  } catch (error) {
    await world.close()
    throw error
  }
}
