// A key as the server lists it: everything but the key itself.

/** What is known of a key, with when it was last used. */
export interface Key {
  id: string
  name: string
  state: 'active' | 'expired' | 'revoked'
  permissions: string[]
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

/** What a key may be allowed, with what that is for. */
export const PERMISSIONS: readonly (readonly [string, string])[] = [
  ['messages:send', 'send messages and run campaigns'],
  ['messages:read', 'look messages and campaigns up'],
  ['contacts:read', 'read contact lists'],
  ['contacts:write', 'change contact lists'],
  ['gallery', 'files of the gallery'],
  ['gallery:system', 'rename system folders'],
  ['admin', 'lanes, senders, keys and templates of this account'],
]
