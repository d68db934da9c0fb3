// Pins: every lane has two live workers at least, lanes are spread evenly, and a worker that dies or comes moves only its
// own. Figures of the shapes that docs/how-it-works/scale.md names.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineOf, rankInLine, serversForLoad, serversForRate, serversOfEach } from '../../src/lanes/owners.ts'
import { createLaneAssignment, EXTRA_SERVERS_MS } from '../../src/worker/sending/lane-assignment.ts'

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 60 }), { minLength: 2, maxLength: 60 })
const lanes = fc.integer({ min: 1, max: 1_000_000 })

/** Who serves a lane, when so many do. */
function serversOf(lane: number, workers: readonly string[], servers: number): string[] {
  const line = lineOf(workers)
  return workers.filter((worker) => rankInLine(lane, worker, line) < servers)
}

test('as many workers as needed serve each lane, and all workers agree which', () => {
  fc.assert(
    fc.property(names, lanes, fc.integer({ min: 1, max: 60 }), (workers, lane, servers) => {
      const found = serversOf(lane, workers, servers)
      expect(found).toHaveLength(Math.min(servers, workers.length))
      expect(new Set(serversOf(lane, [...workers].reverse(), servers))).toEqual(new Set(found))
    }),
  )
})

test('a worker that dies leaves each lane to its other workers, and a new one replaces one of them', () => {
  fc.assert(
    fc.property(names, lanes, fc.integer({ min: 1, max: 60 }), (workers, lane, servers) => {
      const before = serversOf(lane, workers, servers)
      for (const dead of workers) {
        const after = serversOf(
          lane,
          workers.filter((worker) => worker !== dead),
          servers,
        )
        // Read backwards: `dead` came, and at most one other left for it.
        expect(before.filter((worker) => worker !== dead && !after.includes(worker))).toEqual([])
        expect(after.filter((worker) => !before.includes(worker)).length).toBe(
          before.includes(dead) && workers.length > servers ? 1 : 0,
        )
      }
    }),
    { numRuns: 30 },
  )
})

test('two of any number of workers serve each of 10,000 lanes, and none has over a fifth more of them than another', () => {
  for (const count of [3, 8, 20]) {
    const workers = Array.from({ length: count }, (_, i) => `host-${i % 3}-${4_000 + i}-${(i * 7_919).toString(16)}`)
    const line = lineOf(workers)
    const each = serversOfEach(count, 10_000)
    expect(each).toBe(2)
    const loads = workers.map((worker) => {
      let served = 0
      for (let lane = 1; lane <= 10_000; lane += 1) if (rankInLine(lane, worker, line) < each) served += 1
      return served
    })
    expect(loads.reduce((sum, load) => sum + load, 0)).toBe(20_000)
    const even = 20_000 / count
    expect(Math.max(...loads)).toBeLessThan(1.2 * even)
    expect(Math.min(...loads)).toBeGreaterThan(0.8 * even)
  }
})

test('while the lanes are few every worker serves every lane', () => {
  for (const [workers, laneCount] of [
    [1, 10_000],
    [2, 10_000],
    [8, 200],
    [50, 1],
    [3, 0],
  ] as const) {
    expect(serversOfEach(workers, laneCount)).toBeGreaterThanOrEqual(workers)
  }
  expect(serversOfEach(8, 400)).toBe(4)
})

test('a lane gets the workers that its rate and its messages in flight require', () => {
  expect([80, 81, 1_000].map((rate) => serversForRate(rate, 100))).toEqual([1, 2, 13])
  // Two of a hundred each are full: three are wanted, of which each would have 67 in flight and three are still right.
  expect(serversForLoad(100, 2, 100)).toBe(3)
  expect(serversForLoad(67, 3, 100)).toBe(3)
  expect(serversForLoad(10, 3, 100)).toBe(1)
})

/** Duties of `count` workers that know each other, and a clock for them. */
function duties(count: number, laneCount: number) {
  let now = 0
  const workers = Array.from({ length: count }, (_, i) => `worker-${i}`)
  const all = workers.map((self) => createLaneAssignment({ self, maxInFlight: 100 }, () => now))
  const know = (alive: readonly string[]): void => {
    for (const [i, assignment] of all.entries()) if (alive.includes(`worker-${i}`)) assignment.know(alive, laneCount)
  }
  know(workers)
  return { workers, all, know, pass: (ms: number): number => (now += ms) }
}

test('a worker that knows of no others serves every lane, and an empty list changes nothing', () => {
  const assignment = createLaneAssignment({ self: 'me', maxInFlight: 100 })
  expect(assignment.isMine(7)).toBe(true)
  assignment.know(['a', 'b', 'c'], 10_000)
  assignment.know([], 10_000)
  expect(assignment.isMine(7)).toBe(true)
})

test('a lane in need is served by as many as it needs while that is reported', () => {
  const { all, pass } = duties(8, 10_000)
  const serving = () => all.filter((assignment) => assignment.isMine(7))
  expect(serving()).toHaveLength(2)
  const [first] = serving()
  const tell = (servers: number): void => {
    for (const assignment of all) assignment.addServers(7, servers)
  }
  const wanted = first?.opened(7, 300) ?? 0
  expect(wanted).toBe(4)
  tell(wanted)
  expect(serving()).toHaveLength(4)
  // All that four have in flight is all that they may: a fifth is called.
  expect(first?.inNeed([{ lane: 7, inFlight: 100 }])).toEqual([{ lane: 7, servers: 5 }])
  expect(first?.inNeed([{ lane: 7, inFlight: 1 }])).toEqual([{ lane: 7, servers: 4 }])
  // A worker that only helps does not ask for help, or the lane would be wide for ever.
  const helper = serving().find((assignment) => assignment.inNeed([{ lane: 7, inFlight: 100 }]).length === 0)
  expect(helper).toBeDefined()
  pass(EXTRA_SERVERS_MS - 1)
  tell(3)
  expect(serving()).toHaveLength(4)
  pass(1)
  expect(serving()).toHaveLength(2)
})

test('a lane given to others is closed once they have had the time to open it, unless it comes back', () => {
  const { workers, all, know, pass } = duties(8, 10_000)
  const [leaving = ''] = workers
  const rest = workers.slice(1)
  know(rest)
  const heir = all.slice(1).find((assignment) => [1, 2, 3, 4, 5, 6, 7, 8, 9].some((lane) => assignment.isMine(lane)))
  if (heir === undefined) throw new Error('nobody serves anything')
  const all9 = Array.from({ length: 200 }, (_, i) => i + 1)
  const own = all9.filter((lane) => heir.isMine(lane))
  know([leaving, ...rest])
  const moved = own.filter((lane) => !heir.isMine(lane))
  expect(moved.length).toBeGreaterThan(0)
  expect(heir.handedOver(own)).toEqual([])
  pass(5_999)
  expect(heir.handedOver(own)).toEqual([])
  pass(1)
  expect(heir.handedOver(own)).toEqual(moved)
  know(rest)
  expect(heir.handedOver(own)).toEqual([])
})
