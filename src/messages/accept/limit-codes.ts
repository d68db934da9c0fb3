// Codes of refusals that say that a limit was reached, and which one; for what is counted of them.
import type { Limit } from '../../observe.ts'

/** `rate_limited` is not here: whose rate it was stands in the error. */
export const LIMIT_OF_CODE: ReadonlyMap<string, Limit> = new Map([
  ['too_many_waiting', 'waiting'],
  ['too_many_drafts', 'drafts'],
  ['rows_full', 'rows_bytes'],
  ['gallery_full', 'gallery_bytes'],
  ['too_many_contacts', 'contacts'],
  ['disk_reserve', 'disk_reserve'],
  ['memory_reserve', 'memory_reserve'],
])
