// Who looks at the console while messages are sent: nobody, readers of its stream without a browser, or five tabs of a
// real browser. On the two cores that the worker has, a browser takes time from it that is no fault of ours: what the
// onlookers take of a core themselves is measured apart from what Laneway takes for them.
import { openBrowser } from './console-browser.ts'
import { type ConsoleReader, openConsole } from './console-reader.ts'
import type { Laneway } from './laneway.ts'
import { cpuMs, sessionOf } from './process-usage.ts'

/** Looked at by a team at once. */
export const TABS = 5

export interface Onlookers {
  name: string
  /** Begins to look; returns once each of them got a snapshot. */
  open(): Promise<void>
  close(): Promise<void>
  /** CPU time that they took so far, in ms: of the bench itself for the readers, of all processes of the browser. */
  usedMs(): number
}

/** What everything else is held against. */
export const nobody: Onlookers = {
  name: 'nobody',
  open: async () => {},
  close: async () => {},
  usedMs: () => 0,
}

/** They follow the stream as a page does, and draw nothing. */
export function readers({ port, key }: Laneway): Onlookers {
  let open: ConsoleReader[] = []
  return {
    name: `${TABS} readers`,
    async open() {
      open = openReaders(port, key)
      await Promise.all(open.map((reader) => reader.told))
    },
    async close() {
      await closeReaders(open)
      open = []
    },
    usedMs: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
  }
}

/** Tabs of Chromium at the overview, all of them visible: a hidden tab would get nothing. */
export async function chromiumTabs(laneway: Laneway, add: (stop: () => Promise<void>) => void): Promise<Onlookers> {
  const browser = await openBrowser(`http://127.0.0.1:${laneway.port}`, laneway.key, TABS)
  add(() => browser.close())
  return {
    name: `${TABS} tabs of Chromium`,
    open: () => browser.show(),
    close: () => browser.leave(),
    usedMs: () => cpuMs(sessionOf(browser.pid)),
  }
}

export const openReaders = (port: number, key: string): ConsoleReader[] =>
  Array.from({ length: TABS }, () => openConsole(port, key))
export const closeReaders = async (open: readonly ConsoleReader[]): Promise<void> =>
  void (await Promise.all(open.map((reader) => reader.close())))
