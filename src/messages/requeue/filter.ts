// The filter of a requeue. Pure: the route table imports it.

import { formsOf } from '../../kernel/national-forms.ts'
import { MESSAGE_MOVES, type State, shownState } from '../../model/messages/lifecycle.ts'

/** The states that a message can be sent again from. */
export const REQUEUE_STATES = MESSAGE_MOVES.requeue.from
export type RequeueState = (typeof REQUEUE_STATES)[number]

/**
 * A missing field matches all. Sender and times are not here: they select the lists to read, and which part of them.
 */
export interface RequeueFilter {
  state?: RequeueState | undefined
  /** Digits of the recipient. */
  to?: string | undefined
  class?: 'transactional' | 'campaign' | undefined
  /** Grouping text of the request. */
  campaign_id?: string | undefined
  /** The client's own text. */
  reference?: string | undefined
  /** Number of a campaign of ours, on the one lane that is read then. */
  run?: number | undefined
  /** Code of the problem, as `131026` or `timeout`. */
  code?: string | undefined
}

/** The fields that the filter checks. */
interface Filtered {
  state: State
  repeats: number
  to: string
  class: 'transactional' | 'campaign'
  campaign?: string | undefined
  reference?: string | undefined
  run?: number | undefined
  problem?: { code: string } | undefined
}

/** Whether a message has ended in a state that can be requeued and fits every field that the filter names. */
export function matchesRequeue(message: Filtered, filter: RequeueFilter): boolean {
  const fits = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value
  return (
    REQUEUE_STATES.some((state) => state === message.state) &&
    // A filter for failed messages must not match those that lookups show as unknown.
    fits<string>(filter.state, shownState(message)) &&
    (filter.to === undefined || formsOf(filter.to).includes(message.to)) &&
    fits(filter.class, message.class) &&
    fits(filter.campaign_id, message.campaign) &&
    fits(filter.reference, message.reference) &&
    fits(filter.run, message.run) &&
    fits(filter.code, message.problem?.code)
  )
}
