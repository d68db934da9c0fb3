// Cuts a text between grapheme clusters, which may have many code units: an emoji of a family has eleven.

/** Longer clusters are jokes: they are cut between code points. */
const CHARACTER_MAX = 64
const characters = new Intl.Segmenter()

/** The beginning of a text, of at most `max` UTF-16 code units. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const from = Math.max(0, max - CHARACTER_MAX)
  const around = text.slice(from, max + CHARACTER_MAX)
  const { index = 0 } = characters.segment(around).containing(max - from) ?? {}
  if (index > 0 || from === 0) return text.slice(0, from + index)
  const isInPair = (text.codePointAt(max - 1) ?? 0) > 0xffff
  return text.slice(0, isInPair ? max - 1 : max)
}
