// The default name of a document; without any, WhatsApp shows "Untitled".
import { LIMITS } from './limits.ts'

/** A name with an extension and no invisible characters. */
const NAME = /^[^\p{Cc}\p{Cf}/\\:*?"<>|]+\.[a-z0-9]{1,8}$/iu

/** The file that a link ends in: `invoice 7.pdf` of `https://shop.example/a/invoice%207.pdf?key=1`; undefined when it ends in none. */
export function nameInLink(link: string): string | undefined {
  // Parsed by hand: the address was checked when it was accepted, and a URL object for each message would cost too much.
  const [path = ''] = link.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)
  const last = path.slice(path.lastIndexOf('/') + 1)
  const name = decoded(last).trim()
  return name.length <= LIMITS.filename && NAME.test(name) ? name : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
