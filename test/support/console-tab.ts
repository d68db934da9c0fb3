// A browser that is signed in to a console of its own, and the steps that tests repeat there.
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import type { Snapshot, SnapshotLane } from '../../src/telemetry/snapshot.ts'
import { openTab, signIn, type Tab } from './browser.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

/** What people do on a page. A name as a string is the whole name. */
export interface Acts {
  /** Presses the first button of this name on the page. */
  press(name: string | RegExp): Promise<void>
  dialog(): Locator
  /** Presses a button of the dialog. */
  confirm(name: string | RegExp): Promise<void>
  /** Waits for a notice. */
  notice(text: string | RegExp): Promise<void>
  /** Waits until the heading has this badge. */
  badge(word: string): Promise<void>
  /** Rows of tables that have these words. */
  row(words: string): Locator
  /** The value beside this name in the figures of the page. */
  figure(name: string): Locator
}

export interface ConsoleTab extends Acts {
  readonly world: ConsoleWorld
  readonly page: Page
  /** What the page threw, or asked of other hosts. */
  readonly faults: string[]
  /** From now on the page shows these lanes in place of the real ones. */
  showLanes(lanes: SnapshotLane[]): Promise<void>
}

/** Acts on a page. `page` is called when an act is done, so that a test file can name the acts before it has a page. */
export function acts(page: () => Page): Acts {
  const dialog = () => page().getByRole('dialog')
  const named = (name: string | RegExp) => ({ name, exact: typeof name === 'string' })
  return {
    dialog,
    press: (name) => page().locator('main').getByRole('button', named(name)).first().click(),
    confirm: (name) => dialog().getByRole('button', named(name)).click(),
    // On a quick machine the one before still stands there.
    notice: (text) => page().locator('.notices').getByText(text).last().waitFor(),
    badge: (word) => page().locator('h1').getByText(word, { exact: true }).waitFor(),
    row: (words) => page().locator('main').getByRole('row').filter({ hasText: words }),
    figure: (name) =>
      page()
        .locator('dl.figures > div')
        .filter({ has: page().getByText(name, { exact: true }) })
        .locator('dd'),
  }
}

/**
 * Before the tests of a file: starts the demo, opens a tab and signs in with a key that may do everything in the account;
 * after them, ends it all. The acts are there at once, the rest only in a test.
 */
export function withConsoleTab(env: Record<string, string> = {}): ConsoleTab {
  let world: ConsoleWorld | undefined
  let open: Tab | undefined
  beforeAll(async () => {
    world = await startConsoleWorld(env)
    open = await openTab(world.browser, world.baseUrl)
    await signIn(open.page, world.key)
  })
  afterAll(() => world?.close())
  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('the tab is not open yet')
    return part
  }
  return {
    ...acts(() => there(open).page),
    async showLanes(lanes) {
      const { page } = there(open)
      const now = await there(world).snapshot()
      const made = (): Snapshot => ({ ...now, at: new Date().toISOString(), lanes, lanes_total: lanes.length })
      await page.route('**/console/stream*', (route) => {
        const body = `retry: 500\nevent: snapshot\ndata: ${JSON.stringify(made())}\n\n`
        return route.fulfill({ contentType: 'text/event-stream', body })
      })
      await page.route('**/console/snapshot*', (route) => route.fulfill({ json: { status: true, data: made() } }))
    },
    get world() {
      return there(world)
    },
    get page() {
      return there(open).page
    },
    get faults() {
      return there(open).faults
    },
  }
}
