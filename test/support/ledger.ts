// The recipients in the ledger of a simulator, for tests that ask for them again and again while thousands are sent.
import { z } from 'zod'

const line = z.object({ to: z.string() })

/**
 * A reader of the recipients in the order in which WhatsApp took their messages. Lines are never changed, so
 * each is parsed once.
 */
export function recipientsReader(simulatorUrl: string): () => Promise<string[]> {
  let known: string[] = []
  let knownLength = 0
  return async () => {
    const text = await (await fetch(`${simulatorUrl}/_ledger`)).text()
    // Emptied, or two reads overtook each other.
    if (text.length < knownLength) [known, knownLength] = [[], 0]
    const added = text.slice(knownLength).split('\n').filter(Boolean)
    known = [...known, ...added.map((each) => line.parse(JSON.parse(each)).to)]
    knownLength = text.length
    return known
  }
}
