// What a key may do: the page shows no button that the server would refuse.

/** Who is signed in, as `GET /console/session` tells. */
export interface Session {
  key_name: string
  account: { id: number; name: string } | null
  operator: boolean
  permissions: readonly string[]
  /** The only senders that the key is for; null: all. */
  senders: readonly number[] | null
  /** Whether the account's default sender is among these. */
  default_sender: boolean
  expires_at: string | null
}

/**
 * `look`, `send` and `runLanes` are about one message or one lane; a key that is for some senders only may do no more than
 * these. `see` goes through all messages and campaigns, `sendMany` is campaigns and requeues, `run` keys and senders.
 */
export type Deed =
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
const NEEDED: Readonly<Record<Exclude<Deed, 'operate'>, readonly string[]>> = {
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
const FOR_SENDERS: readonly Deed[] = ['look', 'send', 'runLanes']

/**
 * Whether the key may. An operator acts for the account that it has chosen (`account`); without one it runs lanes and
 * keys, and nothing that belongs to one account.
 */
export function may(session: Session, deed: Deed, account: number | undefined): boolean {
  if (deed === 'operate') return session.operator
  if (session.operator) return account !== undefined || deed === 'run' || deed === 'runLanes'
  if (session.senders !== null && !FOR_SENDERS.includes(deed)) return false
  return NEEDED[deed].some((permission) => session.permissions.includes(permission))
}
