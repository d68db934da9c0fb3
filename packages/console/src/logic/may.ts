// What a key may do: the page shows no button that the server would refuse.
import type { z } from 'zod'
import type { Permission } from '../../../../src/model/accounts/permissions.ts'
import type { consoleSession } from '../../../../src/producer/api/console/routes.ts'

/** Who is signed in, as `GET /console/session` answers. */
export type Session = z.infer<(typeof consoleSession.session.answers)[200]>['data']

/**
 * The permissions for each right; a key needs one of them. `viewMessage`, `send` and `controlLanes` are about one message or
 * one lane: a key for some senders may do only these. `viewMessages` is all messages and campaigns, `bulkSend` campaigns and
 * requeues, `administer` keys, senders and people.
 */
const NEEDED = {
  viewMessage: ['messages:read'],
  viewMessages: ['messages:read'],
  send: ['messages:send'],
  bulkSend: ['messages:send'],
  controlLanes: ['admin'],
  administer: ['admin'],
  readContacts: ['contacts:read'],
  writeContacts: ['contacts:write'],
  readTemplates: ['admin', 'messages:read', 'messages:send'],
  gallery: ['gallery'],
  events: ['events'],
} as const satisfies Readonly<Record<string, readonly Permission[]>>
export type Right = keyof typeof NEEDED | 'operate'

/** The rights that a key for some senders can have. */
const FOR_SENDERS: readonly Right[] = ['viewMessage', 'send', 'controlLanes']

/**
 * Whether a key has a right. An operator acts for the chosen `account`; without one it controls lanes and keys, and nothing
 * that belongs to a single account.
 */
export function may(session: Session, right: Right, account: number | undefined): boolean {
  if (right === 'operate') return session.operator
  if (session.operator) return account !== undefined || right === 'administer' || right === 'controlLanes'
  if (session.senders !== null && !FOR_SENDERS.includes(right)) return false
  return NEEDED[right].some((permission) => session.permissions.includes(permission))
}
