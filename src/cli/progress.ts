// A progress bar: on standard error, and only on a terminal.
import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'

/** Starts the bar; stop it. `format` names what it shows, `shown` has it for the beginning. */
export function startBar(stream: Writable, format: string, total: number, shown: object): SingleBar {
  const bar = new SingleBar({
    stream,
    format,
    clearOnComplete: true,
    // Its own handling of Ctrl-C would keep the command running; so it must not change what it would have to put back.
    gracefulExit: false,
    linewrap: true,
  })
  bar.start(total, 0, shown)
  return bar
}
