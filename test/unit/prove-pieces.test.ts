// The pieces of `npm run prove` whose fault would make a proof worthless without anybody noticing.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UNOBSERVED } from '../../bench/scenarios/observed.ts'
import { judge } from '../prove/checker.ts'
import { busiest } from '../prove/departures.ts'
import { readTrace } from '../prove/fsync-trace.ts'
import { PAGE, pageOf, type Run, readRecords, recordsAfter } from '../prove/last-proof.ts'
import { playAll, verdictOf } from '../prove/play.ts'
import { createRandom } from '../prove/random.ts'
import { report, reportAsJson } from '../prove/report.ts'
import { ALTERATIONS, SAFEGUARDS } from '../prove/safeguards.ts'
import { brokenFigures, type Scenario } from '../prove/scenario.ts'
import { SCENARIOS } from '../prove/scenarios/all.ts'
import { TAKEN_UP } from '../prove/scenarios/poison-jobs.ts'
import { TooSlow } from '../prove/wait.ts'
import { alteredBuild } from '../testbed/altered-build.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laneway-prove-pieces-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('removing a safeguard', () => {
  const build = (text: string) => {
    const place = join(folder, 'dist')
    mkdirSync(place)
    writeFileSync(join(place, 'a.js'), text)
    return place
  }
  const away = { file: 'a.js', find: 'if (claimed) ', replace: '' }

  test('happens in a copy, where exactly one match is replaced', () => {
    const original = build('if (claimed) send()')
    const altered = alteredBuild(original, join(folder, 'altered'), away)
    expect(readFileSync(join(altered, 'a.js'), 'utf8')).toBe('send()')
    expect(readFileSync(join(original, 'a.js'), 'utf8')).toBe('if (claimed) send()')
  })

  test('puts the file with the version beside the copy as well', () => {
    const original = build('if (claimed) send()')
    writeFileSync(join(folder, 'package.json'), '{}')
    mkdirSync(join(folder, 'run'))
    alteredBuild(original, join(folder, 'run/dist'), away)
    expect(readFileSync(join(folder, 'run/package.json'), 'utf8')).toBe('{}')
  })

  test.each(['send()', 'if (claimed) a(); if (claimed) b()'])(
    'fails when there is not exactly one match: %s',
    (text) => {
      expect(() => alteredBuild(build(text), join(folder, 'altered'), away)).toThrow('matches, not one')
    },
  )
})

test.each([
  ...ALTERATIONS.map(([name, { file, find }]) => [name, file, find] as const),
  ['poison-jobs', TAKEN_UP.file, TAKEN_UP.find] as const,
  ...UNOBSERVED.map(({ file, find }) => ['observed', file, find] as const),
])('the text that %s replaces is in src exactly once', (_name, file, find) => {
  const source = readFileSync(join('src', file.replace(/\.js$/, '.ts')), 'utf8')
  expect(source.split(find)).toHaveLength(2)
})

describe('randomness', () => {
  const draws = (seed: number, name: string) => Array.from({ length: 20 }, createRandom(seed).fork(name).next)

  test('is the same for the same seed and part, and different for another seed or part', () => {
    expect(draws(1, 'kills')).toEqual(draws(1, 'kills'))
    expect(draws(1, 'kills')).not.toEqual(draws(2, 'kills'))
    expect(draws(1, 'kills')).not.toEqual(draws(1, 'faults'))
  })

  test('of one part does not depend on what another part has drawn', () => {
    const random = createRandom(1)
    random.fork('faults').next()
    random.next()
    expect(random.fork('kills').next()).toBe(draws(1, 'kills')[0])
  })
})

describe('the trace of a Redis', () => {
  const AOF = '9</d/appendonlydir/appendonly.aof.1.incr.aof>'
  const read = (...lines: string[]) => {
    writeFileSync(join(folder, 'trace'), lines.join('\n'))
    return readTrace(join(folder, 'trace'))
  }

  test('counts as safe what was written before a sync, from when it returned', () => {
    expect(
      read(
        `7 1.000 write(${AOF}, ""..., 100) = 100 <0.001>`,
        `7 2.000 fdatasync(${AOF}) = 0 <0.250>`,
        `7 3.000 write(${AOF}, ""..., 50) = 50 <0.001>`,
      ),
    ).toEqual([{ atMs: 2_250, bytes: 100 }])
  })

  test('does not count what was written during a sync of another thread', () => {
    expect(
      read(
        `7 1.000 write(${AOF}, ""..., 100) = 100 <0.001>`,
        `8 2.000 fdatasync(${AOF} <unfinished ...>`,
        `7 2.500 write(${AOF}, ""..., 50 <unfinished ...>`,
        '7 2.600 <... write resumed>) = 50 <0.100>',
        '8 3.000 <... fdatasync resumed>) = 0 <1.000>',
        `8 4.000 fdatasync(${AOF}) = 0 <0.500>`,
      ),
    ).toEqual([
      { atMs: 3_000, bytes: 100 },
      { atMs: 4_500, bytes: 150 },
    ])
  })

  test('does not count other files, nor a sync that failed or never returned', () => {
    expect(
      read(
        '7 1.000 write(5<socket:[1]>, ""..., 100) = 100 <0.001>',
        '7 1.500 fdatasync(6</d/other>) = 0 <0.001>',
        `7 2.000 fdatasync(${AOF}) = -1 EIO (Input/output error) <0.001>`,
        `7 3.000 fdatasync(${AOF} <unfinished ...>`,
      ),
    ).toEqual([])
  })
})

test('the busiest second is any span of a second, not one of the clock', () => {
  expect(busiest([], 1_000)).toBe(0)
  expect(busiest([0, 900, 950, 1_000, 1_899, 1_900], 1_000)).toBe(4)
  expect(busiest([0, 1_000, 2_000], 1_000)).toBe(1)
})

test('a figure is broken above its maximum, below its minimum, and when it is not a number', () => {
  const figure = { what: 'share', unit: '%' }
  expect(brokenFigures([{ ...figure, value: 5, atMost: 5, atLeast: 5 }])).toEqual([])
  expect(brokenFigures([{ ...figure, value: 5.01, atMost: 5 }])).toHaveLength(1)
  expect(brokenFigures([{ ...figure, value: 4.99, atLeast: 5 }])).toHaveLength(1)
  expect(brokenFigures([{ ...figure, value: Number.NaN, atMost: 5 }])).toHaveLength(1)
})

describe('a scenario', () => {
  /** Plays one, whose run does this. */
  async function verdict(does: Scenario['run'], full = false) {
    const scenario = { name: 'one', promise: 'p', run: does }
    const plan = { seed: 1, build: '', place: folder, full, tls: undefined, say: () => {} }
    const played = await playAll([scenario], plan)
    return { said: verdictOf(played[0] ?? expect.unreachable()), told: report(played), json: reportAsJson(played) }
  }
  const finding = (more: object = {}) => ({
    judgement: judge({
      ...{ requests: [], ledger: [], states: new Map(), possibleDuplicates: new Set(), refusedLater: new Set() },
      flagsEarned: 0,
    }),
    figures: [],
    ...more,
  })
  const slow = [{ what: 'accepting again after', value: 20, unit: 'ms', atMost: 10 }]

  test('that was not at rest in time has neither kept nor broken its promise', async () => {
    const { said, told, json } = await verdict(async (run) => {
      run.late('not at rest in time')
      return finding()
    })
    expect(said).toBe('late')
    expect(told).toContain('No promise was broken, but 1 of 1 scenarios took too long to tell')
    expect(told).toContain('  - not at rest in time')
    expect(json).toMatchObject({ kept: false, scenarios: [{ verdict: 'late', violations: [] }] })
  })

  test('with a process that did not start in time has not broken its promise either', async () => {
    const { said } = await verdict(async () => {
      throw new TooSlow('producer 1 was not ready')
    })
    expect(said).toBe('late')
  })

  test('that breaks its promise has broken it, however late it was', async () => {
    const { said, told } = await verdict(async (run) => {
      run.late('not at rest in time')
      return finding({ violations: ['one lost silently'] })
    })
    expect(said).toBe('broken')
    expect(told).toContain('1 of 1 scenarios broke a promise.')
  })

  test('of full size breaks its promise when it misses a time limit, a small one counts as late', async () => {
    expect((await verdict(async () => finding({ figures: slow }), true)).said).toBe('broken')
    expect((await verdict(async () => finding({ figures: slow }))).said).toBe('late')
    expect((await verdict(async () => finding())).said).toBe('kept')
  })
})

describe('the record of the last proof', () => {
  const run: Run = { commit: 'abc1234', size: 'full', machine: 'a machine', load: 0.3 }
  const judgement = {
    ...{ accepted: 5, inLedger: 4, lostSilently: [], sentTwiceSilently: [], sentTwice: [], unsettled: [], flagged: [] },
    ...{ unearned: false, invented: [], contradictions: [], violations: [] },
  }
  const played = (name: string, more: object = {}) => ({
    ...{
      name,
      promise: 'p',
      safeguard: false,
      seed: 7,
      seconds: 1,
      skipped: undefined,
      violations: [],
      late: [],
      folder: '',
    },
    finding: {
      judgement,
      figures: [{ what: 'kills', value: 3, unit: 'kills', atLeast: 1 }],
    },
    ...more,
  })

  test('replaces the scenarios that ran, keeps the others, and has the commit', () => {
    const first = recordsAfter([], [played('one'), played('two')], run, ['one', 'two'])
    const later = { ...run, commit: 'def5678' }
    const skipped = played('one', { finding: undefined, skipped: 'no such program here' })
    const second = recordsAfter(first, [skipped, played('two', { violations: ['It broke.'] })], later, ['two', 'one'])
    expect(second.map(({ scenario, commit, broken }) => [scenario, commit, broken])).toEqual([
      ['two', 'def5678', ['It broke.']],
      ['one', 'abc1234', []],
    ])
    expect(pageOf(second)).toMatch(/^two +5 +4 +0 +0 +0 +– +7 +full +0\.3 +def5678$/m)
    expect(pageOf(second)).toContain('two: It broke.')
    expect(pageOf(second)).toContain('one: kills 3 kills (at least 1)')
    expect(recordsAfter(second, [], run, ['one']).map(({ scenario }) => scenario)).toEqual(['one'])
  })

  test('names scenarios that were too slow for a verdict, which count as no kept promise', () => {
    const [record] = recordsAfter([], [played('one', { late: ['not at rest in time'] })], run, ['one'])
    expect(record?.broken).toEqual(['not at rest in time'])
  })

  test('matches the page in docs, and has only existing scenarios', () => {
    expect(readFileSync(PAGE, 'utf8')).toBe(pageOf(readRecords()))
    const known = [...SCENARIOS, ...SAFEGUARDS].map(({ name }) => name)
    expect(readRecords().filter(({ scenario }) => !known.includes(scenario))).toEqual([])
  })
})
