// Saving what an address answers as a file. A link would do, but for refusals: those must be said in words.
import { actingHeaders, Refused, refusalOf } from './http.ts'

/** How long the browser may take to begin with a file before its bytes are let go. */
const KEPT_MS = 60_000

/** Fetches the address and hands the bytes to the browser under this name. Throws Refused. */
export async function download(address: string, name: string): Promise<void> {
  let bytes: Blob
  try {
    const answer = await fetch(address, { headers: actingHeaders(), credentials: 'same-origin' })
    if (!answer.ok) throw refusalOf(answer.status, await answer.json().catch(() => ({})))
    // As a kind of its own it would be shown by some browsers.
    bytes = new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' })
  } catch (error) {
    if (error instanceof Refused) throw error
    throw new Refused(0, 'unreachable', 'The file broke off. Try again.')
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(bytes)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}
