// Which messages of a campaign its circuit breaker leaves out, by their state and the code of their problem: they say nothing about
// the campaign. Pure. Scripts count by the same table (lanes/messages/message-script.ts).
import type { State } from '../messages/lifecycle.ts'
import { OWN_DOUBTS } from '../messages/own-problems.ts'
import { PROVIDER_CODES } from '../messages/provider-codes.ts'

/** It was refused because of its recipient. */
const ofRecipient = [...PROVIDER_CODES].flatMap(([code, { concerns }]) => (concerns === 'recipient' ? [`${code}`] : []))
/** It is unproven because a worker died, or was late itself. */
const ofWorker = Object.values(OWN_DOUBTS)

/** The codes that exempt a message in each of the states that are bad. */
export const EXEMPT_CODES: Readonly<Partial<Record<State, readonly string[]>>> = {
  failed: ofRecipient,
  unconfirmed: ofWorker,
  unknown: ofWorker,
}

/** Whether the circuit breaker counts a message as one that ended badly. */
export const isCountedBad = (state: State, code: string | undefined): boolean => {
  const exempt = EXEMPT_CODES[state]
  return exempt !== undefined && (code === undefined || !exempt.includes(code))
}
