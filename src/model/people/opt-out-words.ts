// The words by which a person stops what an account advertises, and lets it write again. Pure.

/** Characters of a text that are examined. */
const TEXT_MAX = 100

/**
 * The label of the button that WhatsApp offers for marketing templates, by language as far as known. Pressing it is an opt-out,
 * whatever the account's own words are.
 */
const PROVIDER_BUTTONS = [
  'Stop promotions',
  'Detener promociones',
  'Parar promoções',
  'Interrompi promozioni',
  'إيقاف عمليات الترويج',
]

const PICTURES = /[0-9#*]\uFE0F?\u20E3|\p{Extended_Pictographic}/gu
const UNSEEN = /[\p{Cf}\p{Me}\p{Default_Ignorable_Code_Point}]/gu
/** From the first letter or figure to the last one, with its accents. */
const INNER = /[\p{L}\p{N}](?:.*[\p{L}\p{N}])?\p{M}*/u

/**
 * A text normalised for comparison: without punctuation around it, pictures and invisible characters, and in one case. Upper case
 * first, because a letter may have several small ones: `ß` is `SS`, and the Turkish `İ`, `I`, `i` and `ı` become the same.
 */
function bare(text: string): string {
  const plain = text
    .replace(PICTURES, ' ')
    .normalize('NFKC')
    .replace(UNSEEN, '')
    .toUpperCase()
    .toLowerCase()
    .replace(/i\u0307/g, 'i')
    .replace(/\s+/g, ' ')
  return INNER.exec(plain)?.[0].normalize('NFKC') ?? ''
}

/** People may leave out accents, as on a keyboard without them; another accent is another word. */
const withoutAccents = (word: string): string =>
  word
    .normalize('NFD')
    .replace(/[\u0300-\u036F]/g, '')
    .normalize('NFC')

const spellingsOf = (words: readonly string[]): Set<string> =>
  new Set(words.map(bare).flatMap((word) => (word === '' ? [] : [word, withoutAccents(word)])))

const providerButtons = spellingsOf(PROVIDER_BUTTONS)

/** The words of a setting, separated by commas; none of an empty one. */
const wordsOf = (setting: string): Set<string> => spellingsOf(setting.split(','))

/** A first sentence or line with more after it. A question does not count: `Stop?` with more asks something else. */
const FIRST_SENTENCE = /^([^\p{L}\p{N}]*.*?)(?:[.!…।۔](?![\p{L}\p{N}])|[。！\r\n\u2028\u2029])/su

/**
 * Whether a received message opts out or in. `said`: its text, and the payload of a pressed button. One of them must be one of the
 * words, in any case and with any punctuation around it. A stop word may also be the first sentence: `Stop. Thank you`. A word in
 * both settings is a stop, and so is a message with both. An account without stop words has no stop.
 */
export function keywordIntent(
  said: readonly string[],
  { stop, start }: { stop: string; start: string },
): 'stop' | 'start' | undefined {
  const stops = wordsOf(stop)
  const isStop = (text: string): boolean => stops.has(text) || (stops.size > 0 && providerButtons.has(text))
  const whole = said.filter((text) => text.length <= TEXT_MAX).map(bare)
  const first = said.map((text) => bare(FIRST_SENTENCE.exec(text.slice(0, TEXT_MAX))?.[1] ?? ''))
  if ([...whole, ...first].some(isStop)) return 'stop'
  const starts = wordsOf(start)
  return whole.some((text) => starts.has(text)) ? 'start' : undefined
}
