// Misspelt settings have no effect, so they are named at the start. They do not refuse it: an older version may be started
// with the environment of a newer one.
import { unknownSettings } from '../config.ts'
import type { Log } from '../log.ts'

/** One warning that names every variable which begins with LANEWAY_ and is no setting. Values may be secrets. */
export function warnOfUnknownSettings(log: Log): void {
  const variables = unknownSettings()
  if (variables.length > 0) log.warn({ variables }, 'settings.unknown')
}
