// The proof reads a service that still works: what happens between two reads is never taken for a broken promise, and what
// is broken is found all the same.
import { describe, expect, test } from 'vitest'
import { untilOver } from '../prove/rest.ts'
import { judgeInOrder, type Named } from '../prove/testimonies.ts'

/** A service with one message; `moves` happen one by one, the next before each read. */
function world(moves: readonly ((world: World) => void)[], begun: Partial<World> = {}) {
  const now: World = { state: 'queued', ledger: [], possibleDuplicate: false, ...begun }
  const left = moves.values()
  const moved = (): World => {
    left.next().value?.(now)
    return now
  }
  return {
    states: async (messages: readonly Named[]) =>
      messages.length === 0 ? new Map<string, string>() : new Map(messages.map(({ id }) => [id, moved().state])),
    ledger: async () => [...moved().ledger],
    inside: async (ids: readonly string[]) => {
      const { possibleDuplicate } = moved()
      return new Map(ids.map((id) => [id, { possibleDuplicate }]))
    },
  }
}

interface World {
  state: string
  ledger: Named[]
  possibleDuplicate: boolean
}

const given = {
  requests: [{ to: '49', ids: ['m1'] }],
  refusedLater: new Set<string>(),
  atWork: true,
  flagsEarned: 1,
}

const nothing = () => {}
const isSent = (now: World) => {
  now.ledger.push({ to: '49', id: 'm1' })
  now.state = 'read'
}
const isRepeated = (now: World) => {
  now.possibleDuplicate = true
  now.ledger.push({ to: '49', id: 'm1' })
}

describe('a message is not counted as lost or doubled', () => {
  test.each([
    ['before the states are read', [isSent]],
    ['between the states and the ledger', [nothing, isSent]],
    ['between the ledger and the flags', [nothing, nothing, isSent]],
  ])('that leaves %s', async (_when, moves) => {
    const { judgement } = await judgeInOrder(world(moves), given)
    expect(judgement.violations).toEqual([])
  })

  test.each([
    ['before the states are read', [isRepeated]],
    ['between the states and the ledger', [nothing, isRepeated]],
    ['between the ledger and the flags', [nothing, nothing, isRepeated]],
  ])('that is flagged and sent again %s', async (_when, moves) => {
    const begun = { state: 'sending', ledger: [{ to: '49', id: 'm1' }] }
    const { judgement } = await judgeInOrder(world(moves, begun), given)
    expect(judgement.violations).toEqual([])
  })
})

test('a message reported as read that was never sent is lost silently, also while others are sent', async () => {
  const { judgement } = await judgeInOrder(world([], { state: 'read' }), given)
  expect(judgement.lostSilently).toEqual(['49'])
})

test('a message that left twice without a flag is found, under any id', async () => {
  const ledger = [
    { to: '49', id: 'm1' },
    { to: '49', id: 'm2' },
  ]
  const { judgement, states } = await judgeInOrder(world([], { state: 'read', ledger }), given)
  expect(judgement.sentTwiceSilently).toEqual(['49'])
  expect([...states.keys()]).toEqual(['m1', 'm2'])
})

describe('the wait until nothing moves', () => {
  /** Asks on a clock that stands still but for the pauses. */
  function waitFor(answer: (ms: number) => string | true) {
    let ms = 0
    const clock = {
      now: () => ms,
      pause: async (for_: number) => {
        ms += for_
      },
    }
    return untilOver(120_000, async () => answer(ms), { everyMs: 1_000, clock }).then((end) => ({ end, ms }))
  }

  test('continues beyond its limit as long as something moves', async () => {
    expect(await waitFor((ms) => ms >= 400_000 || String(ms))).toEqual({ end: 'over', ms: 400_000 })
  })

  test('reports as stuck what no longer moves', async () => {
    const { end, ms } = await waitFor((now) => String(Math.min(now, 100_000)))
    expect(end).toBe('stuck')
    expect(ms).toBeLessThan(200_000)
  })

  test('does not report as stuck what only stalled before its limit', async () => {
    expect((await waitFor((ms) => ms >= 119_000 || 'nothing')).end).toBe('over')
  })

  test('reports as late what moves and does not finish', async () => {
    expect((await waitFor(String)).end).toBe('late')
  })
})
