// The address of a media file. It is checked for its form and never fetched: whatever it serves is between the
// chat product and that server, and a service that fetches addresses from request bodies can be turned against its own network.
import { textUpTo } from './bounded-text.ts'
import { quoted } from './fault.ts'
import { LIMITS } from './limits.ts'

/** An absolute http or https address of at most 2,048 characters, kept exactly as it was written. */
export const linkSchema = textUpTo(LIMITS.link)
  .refine((text) => text.length > LIMITS.link || isWebAddress(text), {
    error: (issue) => `expected an absolute http or https address, got ${quoted(issue.input)}`,
  })
  .meta({ format: 'uri', description: 'An absolute http or https address. Laneway never opens it.' })

/** The URL parser alone is too kind: it drops line breaks and outer spaces, and reads `http:host` and `http:///host` as `http://host`. */
function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}/\\][^\s\p{Cc}]*$/iu.test(text) && isUrl(text)
}

/** Not `URL.canParse`: in Node 20.20.2, once V8 has optimised its caller, it refuses every address with an é or ü in it. */
function isUrl(text: string): boolean {
  try {
    return new URL(text) !== undefined
  } catch {
    return false
  }
}
