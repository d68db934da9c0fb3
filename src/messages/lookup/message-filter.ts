// The filter of a list of messages: its fields, and whether a message matches it. Pure.

import { formsOf } from '../../kernel/national-forms.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { ListedMessage } from './message-schema.ts'

/** What is left out matches all. */
export interface MessageFilter {
  state?: State | undefined
  /** Digits of the recipient, of messages that were sent. */
  to?: string | undefined
  /** Digits of the person who wrote, of received ones. */
  from?: string | undefined
  /** Names of one person, of messages that were sent to them or that they wrote. */
  names?: readonly string[] | undefined
  class?: 'transactional' | 'campaign' | undefined
  direction?: 'outbound' | 'inbound' | undefined
  /** A campaign of ours. */
  campaign?: { id: string; lane: number; number: number } | undefined
  /** Grouping text of the request. */
  campaignId?: string | undefined
  /** The client's own text. */
  reference?: string | undefined
  /** Code of the problem. */
  code?: string | undefined
  /** Accepted at or after, and at or before (epoch ms). */
  sinceMs?: number | undefined
  untilMs?: number | undefined
}

/** Fields that only sent messages have. */
const OUTBOUND = ['to', 'class', 'campaign', 'campaignId', 'reference', 'code'] as const

/** The directions that can match. */
export function directionsOf(filter: MessageFilter): { outbound: boolean; inbound: boolean } {
  const { direction, from, state } = filter
  return {
    outbound: direction !== 'inbound' && from === undefined,
    inbound:
      direction !== 'outbound' &&
      // A received message has been delivered.
      (state === undefined || state === 'delivered') &&
      OUTBOUND.every((field) => filter[field] === undefined),
  }
}

/** The names of the person whose messages match; undefined when everybody's do, none when two people are wanted. */
export function namesIn({ to, from, names }: MessageFilter): readonly string[] | undefined {
  const one = to ?? from
  if (one === undefined) return names
  return formsOf(one).filter((form) => names?.includes(form) ?? true)
}

const fits = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value

/** Whether a message fits every field but the times, which choose what is read. */
export function matches(message: ListedMessage, filter: MessageFilter): boolean {
  const shared =
    fits<string>(filter.state, message.state) &&
    fits<string>(filter.direction, message.direction) &&
    fits<string | null>(filter.class, message.class) &&
    fits<string | null>(filter.campaign?.id, message.campaign) &&
    fits<string | null>(filter.campaignId, message.campaign_id) &&
    fits<string | null>(filter.reference, message.reference) &&
    fits<string | undefined>(filter.code, message.problem?.code)
  const person = message.direction === 'inbound' ? message.from : message.to
  return (
    shared &&
    (namesIn(filter)?.includes(person) ?? true) &&
    (message.direction === 'inbound' ? filter.to : filter.from) === undefined
  )
}
