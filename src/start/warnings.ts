// What a start warns of and does not refuse.
import { unknownSettings } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { ownNodeProblem } from '../kernel/node-line.ts'

/**
 * Logs the name of every variable that begins with LANEWAY_ and is no setting, as a misspelt one has no effect. It does not
 * refuse the start: an older version may be started with the environment of a newer one. Values may be secrets.
 */
export function warnOfUnknownSettings(log: Log): void {
  const variables = unknownSettings()
  if (variables.length > 0) log.warn({ variables }, 'settings.unknown')
}

/** Logs that the Node which runs this process gets no security fixes, or lacks some. It does not refuse the start. */
export function warnOfNode(log: Log, problem = ownNodeProblem()): void {
  if (problem !== undefined) log.warn({ problem }, 'node.outdated')
}
