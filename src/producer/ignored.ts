// The header `x-laneway-ignored`: which fields of a body were left out, at the addresses of the older interface, whose
// clients may send whatever they like. It names paths, never values.
import { unknownFields } from '../messages/fault.ts'

/** A header is a line that proxies and logs handle: at most so long. */
const LENGTH_MAX = 1_000
/** All else in a name is somebody's invention and could end the line or begin another. */
const UNSAFE = /[^\w.[\]$@:/-]/g

/** The header for these paths, none for no path: `{ 'x-laneway-ignored': 'image.captoin, note' }`. */
export function ignoredHeader(paths: readonly string[]): Record<string, string> {
  if (paths.length === 0) return {}
  const safe = paths.map((path) => path.replace(UNSAFE, '?')).join(', ')
  return { 'x-laneway-ignored': safe.length > LENGTH_MAX ? `${safe.slice(0, LENGTH_MAX - 3)}...` : safe }
}

/** The same for a flat body of which the fields `read` were read. */
export const ignoredIn = (body: object, read: ReadonlySet<string>): Record<string, string> =>
  ignoredHeader(unknownFields(body, {}, read))
