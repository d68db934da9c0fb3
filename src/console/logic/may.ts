// What a key may do: the page shows no button that the server would refuse.

/** Who is signed in, as `GET /console/session` tells. */
export interface Session {
  key_name: string
  account: { id: number; name: string } | null
  operator: boolean
  permissions: readonly string[]
  expires_at: string | null
}

export type Deed =
  | 'see'
  | 'send'
  | 'run'
  | 'readContacts'
  | 'writeContacts'
  | 'readTemplates'
  | 'gallery'
  | 'events'
  | 'operate'

/** One of these will do. */
const NEEDED: Readonly<Record<Exclude<Deed, 'operate'>, readonly string[]>> = {
  see: ['messages:read'],
  send: ['messages:send'],
  run: ['admin'],
  readContacts: ['contacts:read'],
  writeContacts: ['contacts:write'],
  readTemplates: ['admin', 'messages:read', 'messages:send'],
  gallery: ['gallery'],
  events: ['events'],
}

/**
 * Whether the key may. An operator acts for the account that it has chosen (`account`); without one it runs lanes and
 * keys, and nothing that belongs to one account.
 */
export function may(session: Session, deed: Deed, account: number | undefined): boolean {
  if (deed === 'operate') return session.operator
  if (session.operator) return account !== undefined || deed === 'run'
  return NEEDED[deed].some((permission) => session.permissions.includes(permission))
}
