// What a key may do: the page shows no button that the server would refuse.
import type { z } from 'zod'
import type { consoleSession } from '../../producer/api/console/routes.ts'

/** Who is signed in, as `GET /console/session` answers. */
export type Session = z.infer<(typeof consoleSession.session.answers)[200]>['data']

/**
 * `look`, `send` and `runLanes` are about one message or one lane; a key for some senders may do no more than
 * these. `see` goes through all messages and campaigns, `sendMany` is campaigns and requeues, `run` keys and senders.
 */
export type Right =
  | 'look'
  | 'see'
  | 'send'
  | 'sendMany'
  | 'runLanes'
  | 'run'
  | 'readContacts'
  | 'writeContacts'
  | 'readTemplates'
  | 'gallery'
  | 'events'
  | 'operate'

/** One of these will do. */
const NEEDED: Readonly<Record<Exclude<Right, 'operate'>, readonly string[]>> = {
  look: ['messages:read'],
  see: ['messages:read'],
  send: ['messages:send'],
  sendMany: ['messages:send'],
  runLanes: ['admin'],
  run: ['admin'],
  readContacts: ['contacts:read'],
  writeContacts: ['contacts:write'],
  readTemplates: ['admin', 'messages:read', 'messages:send'],
  gallery: ['gallery'],
  events: ['events'],
}

/** What a key for some senders may do of it. */
const FOR_SENDERS: readonly Right[] = ['look', 'send', 'runLanes']

/**
 * Whether the key may. An operator acts for the account that it has chosen (`account`); without one it runs lanes and
 * keys, and nothing that belongs to one account.
 */
export function may(session: Session, right: Right, account: number | undefined): boolean {
  if (right === 'operate') return session.operator
  if (session.operator) return account !== undefined || right === 'run' || right === 'runLanes'
  if (session.senders !== null && !FOR_SENDERS.includes(right)) return false
  return NEEDED[right].some((permission) => session.permissions.includes(permission))
}
