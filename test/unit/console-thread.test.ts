// Pins: the messages of a conversation as the console puts its pages together.
import { expect, test } from 'vitest'
import { entriesOf, type Thread, withNewest, withOlder } from '../../packages/console/src/logic/thread.ts'
import { listedReceived } from '../../src/messages/lookup/message-document.ts'
import type { ReceivedParts } from '../../src/model/messages/received.ts'

const received = (second: number, parts: ReceivedParts = {}, text = `text ${second}`) =>
  listedReceived(
    { id: `wamid.${second}`, lane: 1, from: '491700000001', type: 'text', text, received_at: second * 1_000, parts },
    undefined,
  )
const thread = (next: string | null, ...seconds: number[]): Thread => ({
  data: seconds.map((second) => received(second)),
  next,
})

test('older pages stay while the newest page is loaded again, and no message appears twice', () => {
  const known = withOlder(thread('c', 5, 4), 'c', thread('d', 3, 2))
  expect(withNewest(known, thread('x', 6, 5))).toEqual(thread('d', 6, 5, 4, 3, 2))
})

test('a message that is gone from the newest page is removed', () => {
  expect(withNewest(thread('d', 6, 5, 4, 3), thread('x', 6, 4))).toEqual(thread('d', 6, 4, 3))
  expect(withNewest(thread('d', 6, 5, 4, 3), thread(null))).toEqual(thread(null))
})

test('pages that do not meet are not joined: older ones are loaded again', () => {
  expect(withNewest(thread('d', 3, 2), thread('x', 9, 8))).toEqual(thread('x', 9, 8))
})

test('a page without a match removes nothing', () => {
  expect(withNewest(thread('d', 3, 2), thread('x'))).toEqual(thread('d', 3, 2))
})

test('a page that arrives after its place has changed is dropped', () => {
  expect(withOlder(thread('other', 5), 'c', thread('d', 3))).toEqual(thread('other', 5))
})

test('an answer shows the quoted message, and a message its last reaction, unless that was removed', () => {
  const reacts = (second: number, to: number, emoji: string) =>
    received(second, { reaction: { message_id: `wamid.${to}`, emoji } }, emoji)
  const entries = entriesOf({
    data: [
      reacts(9, 2, ''),
      reacts(8, 1, '\u2764'),
      reacts(7, 1, '\u{1F44D}'),
      reacts(6, 99, '\u{1F44D}'),
      received(4, { context: { message_id: 'wamid.1' } }),
      received(3, { context: { message_id: 'wamid.99' } }),
      // Of the same second, and so in front of the reaction to it.
      received(2),
      reacts(2, 2, '\u{1F44D}'),
      received(1),
    ],
    next: null,
  })
  expect(entries.map(({ message, answered, reaction }) => [message.text, answered, reaction])).toEqual([
    ['\u{1F44D}', undefined, ''],
    ['text 4', 'text 1', ''],
    ['text 3', undefined, ''],
    ['text 2', undefined, ''],
    ['text 1', undefined, '\u2764'],
  ])
})
