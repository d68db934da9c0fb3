// What was done at the command line goes into the activity, under the name of whoever is logged in.
import { recordAct } from '../accounts/store/audit-log.ts'
import type { Redis } from '../redis/connect.ts'
import { userName } from './person.ts'
import type { Acted } from './verb.ts'

/** Writes down what a verb has done; nothing for a verb that changes nothing. Rejects when Redis does not take it. */
export async function tellActs(
  redis: Redis,
  action: string | undefined,
  acted: Acted | readonly Acted[] | undefined,
): Promise<void> {
  if (action === undefined || acted === undefined) return
  const all = 'account' in acted ? [acted] : acted
  for (const each of all) await recordAct(redis, { actor: { cli: userName() }, action, ...each }, Date.now())
}
