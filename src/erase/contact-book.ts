// The contact book of WhatsApp's Cloud API. Meta keeps number and user id of whom a business has written to, or who has
// written to it, until the business deletes the entry, by user id only.
import { HOUR_MS } from '../kernel/time-units.ts'

/**
 * The result of deleting the entry of an erased person. `none`: the account has no number on the Cloud API. `no_user_id`: no user id of
 * theirs is known, and WhatsApp takes nothing else. `waiting`: in progress, with retries. `not_found`: there was no entry. `refused`:
 * WhatsApp refused. `failed`: WhatsApp could not be reached for a day.
 */
export const BOOK_STATES = ['none', 'no_user_id', 'waiting', 'deleted', 'not_found', 'refused', 'failed'] as const
export type BookState = (typeof BOOK_STATES)[number]

/** The names that the contact book uses: user ids, but not those of a parent company. */
export const bookNames = (names: readonly string[]): string[] =>
  names.filter((name) => /^[A-Z]{2}\.[A-Za-z0-9]{1,128}$/.test(name))

/** The result of one request for one user id. */
export type BookAnswer = 'deleted' | 'not_found' | 'refused' | 'unreachable'

/** The result of all answers; `unreachable`: try again. A user id belongs to one business, so others may refuse it. */
export function outcomeOf(answers: readonly BookAnswer[]): BookAnswer {
  const order: readonly BookAnswer[] = ['unreachable', 'deleted', 'not_found']
  return order.find((each) => answers.includes(each)) ?? 'refused'
}

/** How long to wait (ms) before the next try after so many; undefined when they are used up, after about a day. */
export const bookWaitMs = (tries: number): number | undefined => WAITS_MS[tries - 1]

const [MINUTE, HOUR] = [60_000, HOUR_MS]
const WAITS_MS = [10_000, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 16 * HOUR]
