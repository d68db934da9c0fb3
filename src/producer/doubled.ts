// Headers that a request has once. Of two Node takes the first without a word, where a proxy before us may have looked at
// the last: the request would be one thing to it and another to us.
import type { IncomingMessage } from 'node:http'

const ONCE: ReadonlyMap<string, string> = new Map(
  ['Host', 'Authorization', 'Content-Type'].map((name) => [name.toLowerCase(), name]),
)
/** Names are not put into small letters for each of a request's headers: only those that may be one of these. */
const LENGTHS: ReadonlySet<number> = new Set([...ONCE.keys()].map((name) => name.length))

/** The name of a header that may come once and came twice; undefined when there is none. */
export function doubledHeader({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | undefined {
  let seen = ''
  // Names and values in turn.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const written = rawHeaders[at] ?? ''
    if (!LENGTHS.has(written.length)) continue
    const name = written.toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.includes(`${name},`)) return ONCE.get(name)
    seen += `${name},`
  }
  return undefined
}
