// Names to an older client the fields of its body that were ignored.
import type { UnknownField } from '../kernel/unknown-fields.ts'

/** Longest header, for the sake of proxies and logs. */
const LENGTH_MAX = 1_000
/** Characters that a header must not repeat: they could end its line. */
const UNSAFE = /[^\w.[\]$@:/-]/g

/**
 * The header that names ignored fields at the addresses of the older interface: paths, never values, such as
 * `{ 'x-laneway-ignored': 'image.width, note' }`; empty without any.
 */
export function ignoredHeader(fields: readonly UnknownField[]): Record<string, string> {
  if (fields.length === 0) return {}
  const safe = fields.map(({ path }) => path.replace(UNSAFE, '?')).join(', ')
  return { 'x-laneway-ignored': safe.length > LENGTH_MAX ? `${safe.slice(0, LENGTH_MAX - 3)}...` : safe }
}
