// Pins: `top` shows what the console is told, lets nothing that came from outside move the cursor, pauses what was
// selected, and gives the terminal back. Real: Redis, the command line in this process.
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { drawScreen } from '../../src/cli/top-screen.ts'
import { pressedIn } from '../../src/cli/top-terminal.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type Snapshot, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { runCli } from '../support/cli.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

const HOSTILE = 'shop\u001b[2J\u202etop\n\u009b31m'

let service: Service
let tenant: Tenant
let env: Record<string, string>
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
  await senderRecord(service.redis, tenant.partnerLane).change({ name: HOSTILE })
  env = service.settings
})
afterAll(() => service?.close())

const snapshotOf = async (...words: string[]): Promise<Snapshot> => {
  const { code, stdout } = await runCli(['top', ...words, '--json'], env)
  expect(code).toBe(0)
  return snapshotSchema.parse(JSON.parse(stdout))
}

test('--once --json is a snapshot, of one account or of all', async () => {
  const other = await service.addTenant()
  expect((await snapshotOf('--once')).lanes_total).toBe(4)
  const own = await snapshotOf('--once', '--account', String(other.account))
  expect(own.lanes.map(({ account }) => account)).toEqual([other.account, other.account])
})

test('without a terminal it prints the present figures and ends', async () => {
  const { code, stdout, stderr } = await runCli(['top'], env)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/LANES \(\d\)/)
  expect(stdout).toContain('shop\\u001b[2J')
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\u202e/u)
})

test('control characters from outside are not obeyed, and no line is wider than the screen', async () => {
  const snapshot = await snapshotOf('--once')
  const [lane] = snapshot.lanes
  if (lane === undefined) throw new Error('there is no lane')
  const many: Snapshot = {
    ...snapshot,
    lanes: Array.from({ length: 200 }, (_, i) => ({
      ...lane,
      sender: i + 1,
      reason: HOSTILE,
      by: HOSTILE,
      name: HOSTILE,
    })),
    lanes_total: 200,
  }
  const view = { columns: 80, rows: 24, note: HOSTILE, ageMs: 0, selected: { kind: 'lane', id: '150' } as const }
  const lines = drawScreen(many, view)
  expect(lines.length).toBeLessThanOrEqual(24)
  const selected = lines.filter((line) => line.startsWith('\u001b[7m150 shop'))
  expect(selected).toHaveLength(1)
  for (const line of lines) {
    const bare = line.replace('\u001b[7m', '').replace('\u001b[27m', '')
    expect(bare).not.toMatch(/\p{Cc}|\u202e/u)
    expect([...bare].length).toBeLessThanOrEqual(80)
  }
})

test('a screen of 100 columns has room for why a lane does not send', async () => {
  const snapshot = await snapshotOf('--once')
  const [lane] = snapshot.lanes
  if (lane === undefined) throw new Error('there is no lane')
  const held = { ...lane, state: 'paused' as const, by: 'Ada', reason: 'stock-taking', spark: Array(30).fill(1) }
  const lines = drawScreen(
    { ...snapshot, lanes: [held], lanes_total: 1 },
    { columns: 100, rows: 24, note: '', ageMs: 0, selected: undefined },
  )
  expect(lines.filter((line) => line.includes('by Ada  stock'))).toHaveLength(1)
})

test('a sending lane shows what is in flight, how long answers take, and what rate it could reach', async () => {
  const snapshot = await snapshotOf('--once')
  const [lane] = snapshot.lanes
  if (lane === undefined) throw new Error('there is no lane')
  const waiting = { transactional: 5, campaign: 0 }
  const figures = { in_flight: 25, answer_p50_s: 0.3, answer_p99_s: 1.2, bound: 'memory' as const }
  const worker = { id: 'w', host: 'h', pid: 1, started_at: null, version: '0.1.0', lanes: 1, seen_s: 1 }
  const workers = [
    { ...worker, in_flight: 25, max_in_flight: 6_000 },
    // Of the version before.
    { ...worker, id: 'x', in_flight: null, max_in_flight: null },
  ]
  const lines = drawScreen(
    { ...snapshot, lanes: [{ ...lane, state: 'sending', waiting, ...figures }], lanes_total: 1, workers },
    { columns: 400, rows: 24, note: '', ageMs: 0, selected: undefined },
  )
  expect(lines.join('\n')).toContain('workers 2, 25 of 6000 in flight')
  expect(lines.join('\n')).toContain('in flight: 25  answers: p50 300 ms, p99 1.2 s  Its worker has as many')
})

test('keys are recognized by what terminals send for them, and anything else is ignored', () => {
  expect(pressedIn('\u001b[A\u001bOBkjprq\u0003')).toEqual([
    'up',
    'down',
    'up',
    'down',
    'pause',
    'resume',
    'quit',
    'quit',
  ])
  expect(pressedIn('x\u001b\u001b[Z\u001b[5~é')).toEqual([])
})

test('a key pauses and resumes the selected lane, and the terminal is restored at the end', async () => {
  const rawModes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => rawModes.push(on) })
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 30 })
  const stdout = new PassThrough()
  let drawn = ''
  stderr.on('data', (piece: Buffer) => {
    drawn += piece.toString()
  })
  const ended = runCommandLine(['top', '--account', String(tenant.account)], { stdin, stdout, stderr, env })
  await eventually(async () => drawn.includes('LANES (2)'), 'lanes are drawn')
  expect(drawn.startsWith('\u001b[?1049h')).toBe(true)
  const lane = Number(/\p{Cc}\[7m(\d+) /u.exec(drawn)?.[1])
  const queues = openLaneQueues(service.redis)
  stdin.write('p')
  await eventually(async () => drawn.includes(`Lane ${lane} is paused.`), 'it says so')
  expect(await queues.isPaused(lane)).toBe(true)
  expect((await findSender(service.redis, lane))?.paused_by).toMatch(/command line$/)
  // In trouble now, it may stand elsewhere, and is still the one that is selected.
  stdin.write('r')
  await eventually(async () => drawn.includes(`Lane ${lane} is resumed.`), 'it says so')
  expect(await queues.isPaused(lane)).toBe(false)
  const acts = await runCli(['activity', '--json'], env)
  expect(acts.stdout).toContain('lane.pause')
  expect(acts.stdout).toContain('lane.resume')
  await queues.close()
  stdin.write('q')
  expect(await ended).toBe(0)
  expect(drawn.endsWith('\u001b[?1049l')).toBe(true)
  expect(rawModes).toEqual([true, false])
})

test('while Redis is away it shows so and how old the figures are, and no longer once Redis is back', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined })
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 30 })
  let frame = ''
  stderr.on('data', (piece: Buffer) => {
    frame = piece.toString()
  })
  const ended = runCommandLine(['top'], { stdin, stdout: new PassThrough(), stderr, env })
  await eventually(async () => frame.includes('LANES'), 'lanes are drawn')
  process.kill(service.server.pid(), 'SIGSTOP')
  try {
    await eventually(async () => frame.includes('Redis cannot be reached'), 'it says that Redis is away')
    await eventually(async () => /UTC, \d+ s old/.test(frame), 'it says how old the figures are')
  } finally {
    process.kill(service.server.pid(), 'SIGCONT')
  }
  await eventually(async () => frame.includes('LANES') && !frame.includes('cannot be reached'), 'Redis is back')
  stdin.write('q')
  expect(await ended).toBe(0)
})
