// What each limit is about, in words.
import type { LimitInForce } from '../../../producer/limits-in-force.ts'

interface Words {
  name: string
  unit: 'count' | 'bytes' | 'per second'
}

const WORDS: Readonly<Record<LimitInForce['limit'], Words>> = {
  'limit.key_rate': { name: 'Requests of one key', unit: 'per second' },
  'limit.account_rate': { name: 'Requests of all keys together', unit: 'per second' },
  'limit.waiting': { name: 'Messages that wait', unit: 'count' },
  'limit.drafts': { name: 'Campaigns that were not started', unit: 'count' },
  'limit.rows_bytes': { name: 'Uploaded rows of campaigns', unit: 'bytes' },
  'limit.gallery_bytes': { name: 'Files of the gallery, trash included', unit: 'bytes' },
  'limit.contacts': { name: 'Contacts', unit: 'count' },
}

/** A limit that this page does not know is shown as it came. */
export const limitWords = (limit: LimitInForce['limit']): Words => WORDS[limit] ?? { name: limit, unit: 'count' }
