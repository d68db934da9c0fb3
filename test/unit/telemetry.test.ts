// Pins: what a change of state counts as, that no label and no count of codes grows without bound, and how the buffer of
// the history hands out what it holds.
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { sparkline } from '../../src/cli/print.ts'
import { prettyLine } from '../../src/kernel/log.ts'
import { countedCode, enteredStates } from '../../src/telemetry/codes.ts'
import { type Batch, createHistoryBuffer, type HistoryBuffer, WHOLE } from '../../src/telemetry/history.ts'
import { createLaneLabels, createWorkerGauges } from '../../src/telemetry/metrics.ts'

/** All batches, as if each was written. */
function takeAll(buffer: HistoryBuffer): Batch[] {
  const taken: Batch[] = []
  for (let batch = buffer.next(); batch !== undefined; batch = buffer.next()) {
    taken.push(batch)
    buffer.written(batch)
  }
  return taken
}

describe('a change of state counts', () => {
  test('the new state', () => {
    expect(enteredStates('sending', 'sent')).toEqual(['sent'])
    expect(enteredStates('sending', 'unconfirmed')).toEqual(['unconfirmed'])
    expect(enteredStates(undefined, 'failed')).toEqual(['failed'])
    expect(enteredStates('sent', 'failed')).toEqual(['failed'])
  })

  test('the states that must have come before, if none was counted', () => {
    expect(enteredStates('sent', 'read')).toEqual(['delivered', 'read'])
    expect(enteredStates('unconfirmed', 'delivered')).toEqual(['sent', 'delivered'])
    expect(enteredStates('unknown', 'read')).toEqual(['sent', 'delivered', 'read'])
  })

  test('nothing when a message waits, is being sent, or stays as it is', () => {
    expect(enteredStates('failed', 'queued')).toEqual([])
    expect(enteredStates('queued', 'sending')).toEqual([])
    expect(enteredStates('delivered', 'delivered')).toEqual([])
  })
})

describe('a code is counted', () => {
  test.each(['131047', 'timeout', 'worker_lost'])('as %s when the code is known', (code) => {
    expect(countedCode(code)).toBe(code)
  })

  test('by its class when it is an HTTP status', () => {
    expect(countedCode('http_503')).toBe('http_5xx')
  })

  test('as other when a provider made it up', () => {
    expect(countedCode('999999')).toBe('other')
    expect(countedCode('+491700000001')).toBe('other')
    expect(countedCode('http_900')).toBe('other')
  })

  test('as empty when there is none', () => {
    expect(countedCode(undefined)).toBe('')
  })
})

test('lanes beyond the limit of series share one label, and others keep theirs', () => {
  const labelOf = createLaneLabels(2)
  expect([1, 2, 3, 4, 1].map(labelOf)).toEqual(['1', '2', 'other', 'other', '1'])
})

test('connections to providers are counted by origin and protocol, of all that are watched', async () => {
  const registry = new Registry()
  const gauge = createWorkerGauges(registry)
  const at = { origin: 'https://graph.example', protocol: 'h2' }
  gauge.watchConnections(() => [{ ...at, count: 2 }])
  const unwatch = gauge.watchConnections(() => [
    { ...at, count: 3 },
    { ...at, protocol: 'h1', count: 1 },
  ])
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('laneway'))
  const name = (protocol: string) =>
    `laneway_provider_connections{origin="https://graph.example",protocol="${protocol}"}`
  expect(await lines()).toEqual([`${name('h2')} 5`, `${name('h1')} 1`])
  unwatch()
  expect(await lines()).toEqual([`${name('h2')} 2`])
})

test('messages in flight of a process are exported while it has workers, and not without any', async () => {
  const registry = new Registry()
  const gauges = createWorkerGauges(registry)
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('laneway'))
  expect(await lines()).toEqual([])
  const unwatch = gauges.watchInFlight(() => ({ inFlight: 3, maxInFlight: 10 }))
  expect(await lines()).toEqual(['laneway_worker_in_flight 3', 'laneway_worker_in_flight_max 10'])
  expect(await lines()).toEqual(['laneway_worker_in_flight 3', 'laneway_worker_in_flight_max 10'])
  unwatch()
  expect(await lines()).toEqual([])
})

describe('the buffer of the history', () => {
  const accepted = { lane: 1, class: 'transactional', count: 2 } as const

  test('counts for the lane and for the whole, in periods of 10 s', () => {
    let now = 100_000
    const buffer = createHistoryBuffer(() => now)
    buffer.observer.accepted(accepted)
    now = 109_999
    buffer.observer.changed({ lane: 2, class: 'campaign', from: 'sending', to: 'failed', code: '131047' })
    now = 110_000
    buffer.observer.accepted(accepted)
    const batches = takeAll(buffer)
    expect(batches.map(({ atMs }) => atMs)).toEqual([100_000, 110_000])
    const [first] = batches
    expect(first && [...first.lanes].map(([lane, fields]) => [lane, Object.fromEntries(fields)])).toEqual([
      [1, { a: 2 }],
      [WHOLE, { a: 2, f: 1, 'f.131047': 1 }],
      [2, { f: 1, 'f.131047': 1 }],
    ])
    expect(takeAll(buffer)).toEqual([])
  })

  test('gives its batches increasing numbers, also two of the same period', () => {
    const buffer = createHistoryBuffer(() => 100_000)
    const numbers = [1, 2, 3].flatMap(() => {
      buffer.observer.accepted(accepted)
      return takeAll(buffer).map(({ number }) => number)
    })
    expect(numbers).toEqual([1, 2, 3])
  })

  test('returns unwritten counts before later ones, and adds nothing to them', () => {
    let now = 100_000
    const buffer = createHistoryBuffer(() => now)
    buffer.observer.accepted(accepted)
    expect(buffer.next()?.number).toBe(1)
    buffer.observer.accepted(accepted)
    now = 110_000
    buffer.observer.accepted(accepted)
    expect(takeAll(buffer).map(({ number, lanes }) => [number, lanes.get(1)?.get('a')])).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
    ])
  })

  test('drops the oldest periods of a long outage, and reports how many', () => {
    let now = 0
    const buffer = createHistoryBuffer(() => now)
    for (let i = 0; i < 70; i += 1) {
      now = i * 10_000
      buffer.observer.accepted(accepted)
    }
    const taken = takeAll(buffer)
    expect(taken).toHaveLength(60)
    expect(taken[0]?.atMs).toBe(100_000)
    expect(buffer.takeDropped()).toBe(10)
    expect(buffer.takeDropped()).toBe(0)
  })

  test('keeps the highest measured value of a period', () => {
    const buffer = createHistoryBuffer(() => 0)
    buffer.measure(1, 5, 2.4)
    buffer.measure(1, 3, 9.6)
    const [batch] = takeAll(buffer)
    expect(Object.fromEntries(batch?.lanes.get(1) ?? [])).toEqual({ b: 5, o: 10 })
  })
})

test('a sparkline is as high as its highest value, and blank where there is nothing', () => {
  expect(sparkline([0, 1, 4, 8])).toBe(' ▁▄█')
  expect(sparkline([0, 0])).toBe('  ')
})

describe('on a terminal, a line of the log', () => {
  const line = JSON.stringify({
    ...{ level: 40, time: '2026-11-21T03:12:44.123Z', part: 'worker', lane: 3, code: 'timeout' },
    ...{ sentence: 'no\u001b[2Janswer', msg: 'lane.cooldown' },
  })

  test('is for people, and cannot move the cursor', () => {
    expect(prettyLine(`${line}\n`, false)).toBe(
      '03:12:44.123 WARN  worker lane.cooldown lane=3 code=timeout sentence="no\\u001b[2Janswer"\n',
    )
  })

  test('shows the stack of an error below it', () => {
    const failed = JSON.stringify({
      level: 50,
      time: '2026-11-21T03:12:44.123Z',
      part: 'w',
      msg: 'x',
      err: { stack: 'a\nb' },
    })
    expect(prettyLine(failed, false)).toBe('03:12:44.123 ERROR w x\n    a\n    b\n')
  })

  test('is unchanged when it is not JSON', () => {
    expect(prettyLine('plain\n', true)).toBe('plain\n')
  })
})
