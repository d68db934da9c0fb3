// A browser that is signed in to a console of its own, and what a test does there again and again.
import type { Locator, Page } from 'playwright-core'
import { openTab, signIn } from './browser.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

export interface ConsoleTab {
  world: ConsoleWorld
  page: Page
  /** What the page threw, or asked of other hosts. */
  faults: string[]
  /** Presses the first button of this name. */
  press(name: string | RegExp): Promise<void>
  dialog(): Locator
  /** Presses a button of the dialog. */
  confirm(name: string): Promise<void>
  /** Waits for a notice. */
  said(text: string | RegExp): Promise<void>
  /** Rows of tables that have these words. */
  row(words: string): Locator
  close(): Promise<void>
}

/** Starts the demo, opens a tab and signs in with a key that may do everything in the account; `close` ends it. */
export async function startConsoleTab(env: Record<string, string> = {}): Promise<ConsoleTab> {
  const world = await startConsoleWorld(env)
  const { page, context, faults } = await openTab(world.browser, world.baseUrl)
  await signIn(page, world.key)
  const dialog = (): Locator => page.getByRole('dialog')
  return {
    world,
    page,
    faults,
    press: (name) =>
      page
        .getByRole('button', { name, exact: typeof name === 'string' })
        .first()
        .click(),
    dialog,
    confirm: (name) => dialog().getByRole('button', { name, exact: true }).click(),
    said: (text) => page.locator('.notices').getByText(text).waitFor(),
    row: (words) => page.locator('main').getByRole('row').filter({ hasText: words }),
    async close() {
      await context.close()
      await world.close()
    },
  }
}
