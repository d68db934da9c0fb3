// Reads what the service says, what WhatsApp took and which messages are flagged, and has it judged. A service that is not
// at rest goes on meanwhile, so that the order decides: what is read earlier must stay true of what is read later.
import { type Case, type Judgement, judge, type LedgerLine } from './checker.ts'

/** A message of ours, and its recipient. */
export interface Named {
  to: string
  id: string
}

/** Where the testimonies come from. */
export interface Witnesses<Line extends LedgerLine, Inside extends { possibleDuplicate: boolean }> {
  /** Message id → what its lookup says. */
  states(messages: readonly Named[]): Promise<Map<string, string>>
  ledger(): Promise<Line[]>
  inside(ids: readonly string[]): Promise<Map<string, Inside>>
}

/**
 * - The states before the ledger: what they call sent is in it already. The other way round, a message that leaves between
 *   the two is called sent and is missing.
 * - The flags after the ledger: a message is flagged before it is sent again.
 */
export async function judgeInOrder<Line extends LedgerLine, Inside extends { possibleDuplicate: boolean }>(
  witnesses: Witnesses<Line, Inside>,
  given: Pick<Case, 'requests' | 'refusedLater' | 'atWork' | 'flagsEarned'>,
): Promise<{ judgement: Judgement; ledger: Line[]; states: Map<string, string>; inside: Map<string, Inside> }> {
  const { requests } = given
  const accepted = requests.flatMap(({ to, ids: [id] }) => (id === undefined ? [] : [{ to, id }]))
  const states = await witnesses.states(accepted)
  const ledger = await witnesses.ledger()
  // What a repeated request made anew is known from the ledger alone. Of its state only the flag counts.
  const reborn = new Map<string, Named>()
  for (const { to, id } of ledger) if (id !== undefined && !states.has(id)) reborn.set(id, { to, id })
  for (const [id, state] of await witnesses.states([...reborn.values()])) states.set(id, state)
  const inside = await witnesses.inside([...states.keys()])
  const flagged = [...inside].filter(([, { possibleDuplicate }]) => possibleDuplicate).map(([id]) => id)
  const judgement = judge({ ...given, ledger, states, possibleDuplicates: new Set(flagged) })
  return { judgement, ledger, states, inside }
}
