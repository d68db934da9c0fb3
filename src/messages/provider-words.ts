// The provider's own words beside ours. They come as a title and details, and often say once more what a code means:
// "the token has expired or is invalid (code 190): Access token has expired: Error validating access token: …".
// Only what says something new is worth a person's time.

/** Words of fewer letters say nothing by themselves. */
const MEANS_SOMETHING = 4
/** A clause of whose words so many were said already adds nothing. */
const SAID_ALREADY = 0.6

/**
 * What of the provider's text `said` does not tell yet: its clauses in their order, without those that repeat it or one
 * another, and without the code in front. Empty when nothing is new.
 */
export function newWords(text: string, said: string): string {
  const known = new Set(wordsOf(said))
  const clauses: string[] = []
  for (const clause of text.replace(/^\(#\d+\)\s*/, '').split(/:\s+/)) {
    const words = wordsOf(clause)
    const old = words.filter((word) => known.has(word)).length
    const isNew = words.length === 0 ? !said.includes(clause.trim()) : old < SAID_ALREADY * words.length
    if (!isNew) continue
    clauses.push(clause)
    for (const word of words) known.add(word)
  }
  return clauses.join(': ')
}

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter(({ length }) => length >= MEANS_SOMETHING)
