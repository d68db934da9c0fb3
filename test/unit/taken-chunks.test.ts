// Pins: a chunk that a worker has taken up ends when nothing of it waits any more, when its campaign ends, and when the lane
// is given back.
import { expect, test } from 'vitest'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { Candidate } from '../../src/worker/sending/candidate.ts'
import { type ChunkEnd, createTakenChunks } from '../../src/worker/sending/send-chunk.ts'

const content = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } } as const
const payload = { v: 1, to: '4917', class: 'campaign', content, until: 0 } as const

function messagesOf(run: number, count: number): Candidate[] {
  const message = {
    to: '4917',
    type: 'audio',
    text: '',
    class: 'campaign',
    validUntil: 0,
    campaign: undefined,
    run,
  } as const
  return Array.from({ length: count }, () => {
    const id = { lane: 1, ulid: newUlid(0) }
    return new Candidate({ id, name: messageId(1, id.ulid), message, content, from: 'place', payload: () => payload })
  })
}

/** Chunks of campaigns 1, 2, ..., of three messages each, and how those that have ended did. */
function chunksOf(count: number) {
  const chunks = createTakenChunks(() => {})
  const ends = new Map<number, ChunkEnd>()
  for (let run = 1; run <= count; run += 1) void chunks.add(run, messagesOf(run, 3)).then((end) => ends.set(run, end))
  return {
    chunks,
    take: (most: number) => chunks.taken(new Set(chunks.next(most))),
    /** As it is once those who were told have written it down. */
    ended: () => Promise.resolve().then(() => Object.fromEntries(ends)),
  }
}

const DONE = { kind: 'done' }

test('a chunk is done when the last of its messages was taken, and not before', async () => {
  const { chunks, take, ended } = chunksOf(2)
  take(2)
  expect([await ended(), chunks.waiting()]).toEqual([{}, 4])
  take(3)
  expect([await ended(), chunks.waiting()]).toEqual([{ 1: DONE }, 1])
  take(1)
  expect([await ended(), chunks.waiting()]).toEqual([{ 1: DONE, 2: DONE }, 0])
})

test('of those that were read, those that were not taken are next again', async () => {
  const { chunks } = chunksOf(1)
  const [first, second, third] = chunks.next(3)
  if (second === undefined) throw new Error('nothing waits')
  chunks.taken(new Set([second]))
  expect(chunks.next(3)).toEqual([first, third])
})

test('the end of a campaign ends its chunks alone, that of a lane all of them', async () => {
  const { chunks, ended } = chunksOf(3)
  chunks.end({ kind: 'done' }, 2)
  expect([await ended(), chunks.waiting()]).toEqual([{ 2: DONE }, 6])
  const wait = { kind: 'lane_waits', ms: 5 } as const
  chunks.end(wait)
  expect([await ended(), chunks.waiting()]).toEqual([{ 1: wait, 2: DONE, 3: wait }, 0])
})

test('whatever is there when a lane is closed, or comes afterwards, is given back', async () => {
  const { chunks, ended } = chunksOf(1)
  chunks.close()
  expect(await ended()).toEqual({ 1: { kind: 'back' } })
  expect(await chunks.add(2, messagesOf(2, 3))).toEqual({ kind: 'back' })
  expect(chunks.waiting()).toBe(0)
})

test('a chunk without messages is done at once, and wakes nobody', async () => {
  let woken = 0
  const chunks = createTakenChunks(() => {
    woken += 1
  })
  expect(await chunks.add(1, [])).toEqual(DONE)
  expect(woken).toBe(0)
  void chunks.add(1, messagesOf(1, 1))
  expect(woken).toBe(1)
})
