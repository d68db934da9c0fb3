// Pins: which texts stop advertising and let it go on, in every writing of the words; and which do not.
import { expect, test } from 'vitest'
import { keywordIntent } from '../../src/model/people/opt-out-words.ts'

const WORDS = { stop: 'stop,unsubscribe', start: 'start' }

test.each([
  'STOP',
  ' Stop! ',
  '"stop"',
  'STOP ❤️',
  '❤️ stop ✋🏽',
  '👨‍👩‍👧 STOP 🇩🇪',
  'STOP 1️⃣',
  'STOP ℹ️',
  '\u200FSTOP',
  '\u2068STOP\u2069',
  'ST\u200BOP',
  'S\u00ADTOP',
  'STOP\uFE0F',
  'STOP\u20E3',
  '\u0301stop',
  '¡¡STOP!!',
  'ＳＴＯＰ',
  '\u{1D412}\u{1D413}\u{1D40E}\u{1D40F}',
  '— stop —',
  '.\nstop\n.',
])('%j is a stop word', (text) => {
  expect(keywordIntent([text], WORDS)).toBe('stop')
})

test.each(['Please stop by tomorrow', 'stop it', 'nonstop', '', '❤️', '\u200F', 'stop sign 🛑', '1️⃣'])(
  '%j is no stop or start word',
  (text) => {
    expect(keywordIntent([text], WORDS)).toBeUndefined()
  },
)

test.each([
  ['iptal, ayrıl', 'İPTAL'],
  ['iptal, ayrıl', 'IPTAL'],
  ['iptal, ayrıl', 'AYRIL'],
  ['İPTAL', 'iptal'],
  ['İPTAL', 'i\u0307ptal'],
  ['AYRIL', 'ayrıl'],
  ['schluß', 'SCHLUSS'],
  ['στοπ, τέλος', 'ΤΈΛΟΣ'],
  ['отписка', 'ОТПИСКА'],
  ['arrêter', 'Arre\u0302ter'],
  ['arre\u0302ter', 'ARRÊTER'],
  ['रोको', 'रोको 🙏'],
  ['إلغاء', '\u202Bإلغاء\u202C'],
])('for the words %j, %j is a stop word: both sides are folded and composed', (stop, text) => {
  expect(keywordIntent([text], { stop, start: '' })).toBe('stop')
})

test('a word may be written without its accents, but not with other accents', () => {
  expect(keywordIntent(['ARRETER'], { stop: 'arrêter', start: '' })).toBe('stop')
  expect(keywordIntent(['dùng'], { stop: 'dừng', start: '' })).toBeUndefined()
})

test.each([
  'Stop. Thank you',
  'STOP! Leave me alone',
  'stop\nthanks',
  '🛑 Stop… please',
  `Stop. ${'again '.repeat(500)}`,
])('%j stops by its first sentence', (text) => {
  expect(keywordIntent([text], WORDS)).toBe('stop')
})

test.each(['Stop? What do you mean', 'stop.sign', 'No. Stop. Wait', 'Stop, thank you', 'Thank you. Stop.'])(
  '%j does not stop: the word is not its first sentence',
  (text) => {
    expect(keywordIntent([text], WORDS)).toBeUndefined()
  },
)

test('a start word counts only alone, since more text may contradict it', () => {
  expect(keywordIntent(['start'], WORDS)).toBe('start')
  expect(keywordIntent(['▶️ START'], WORDS)).toBe('start')
  expect(keywordIntent(['Start. But no advertising'], WORDS)).toBeUndefined()
})

test('of a button both text and payload count, and a stop word in either wins', () => {
  expect(keywordIntent(['No more news', 'STOP'], WORDS)).toBe('stop')
  expect(keywordIntent(['Start', 'STOP'], WORDS)).toBe('stop')
  expect(keywordIntent(['Yes', 'START'], WORDS)).toBe('start')
})

test.each([
  'Stop promotions',
  'Detener promociones',
  'PARAR PROMOCOES',
  'Interrompi promozioni',
  'إيقاف عمليات الترويج',
])('WhatsApp’s own button %j stops, whatever the words of the account', (text) => {
  expect(keywordIntent([text], WORDS)).toBe('stop')
  expect(keywordIntent([text], { stop: 'abbestellen', start: '' })).toBe('stop')
})

test('an account without stop words has none', () => {
  expect(keywordIntent(['stop', 'Stop promotions'], { stop: '', start: '' })).toBeUndefined()
})
