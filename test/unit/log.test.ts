// Pins: nothing that a person was sent gets into the log by way of an error, and no reader of the log holds a process up.
// Real: the compiled log, in a process whose output is a pipe.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createLog, loggedError } from '../../src/kernel/log.ts'
import { slowness } from '../support/machine.ts'
import { watchStandstills } from '../support/standstills.ts'

/** As ioredis throws it. */
const refused = () =>
  Object.assign(new Error('OOM command not allowed', { cause: new Error('maxmemory') }), {
    name: 'ReplyError',
    code: 'OOM',
    command: { name: 'evalsha', args: ['t', '447700900123', 'x', 'Your code is 1234'] },
    previousErrors: [Object.assign(new Error('OOM'), { command: { name: 'hset', args: ['447700900123'] } })],
  })

test('an error is logged without the command that failed', () => {
  const logged = loggedError(refused())
  expect(JSON.stringify(logged)).not.toMatch(/447700900123|1234/)
  expect(logged).toMatchObject({ code: 'OOM', message: expect.stringContaining('OOM command not allowed') })
  expect(logged).toMatchObject({ stack: expect.stringContaining('caused by: Error: maxmemory') })
})

test('the log uses that format for its errors', () => {
  const log = createLog({ logLevel: 'info' }, 'test')
  expect(Reflect.get(log, pino.symbols.serializersSym)).toMatchObject({ err: loggedError })
})

const LINES = 20_000
/** As a process that logs 4 MB and goes on; says on its error output how long its event loop stood still at most. */
const busy = (then: string) => `
  import { createLog } from './dist/kernel/log.js'
  const log = createLog({ logLevel: 'info' }, 'test')
  let last = performance.now(), most = 0
  setInterval(() => { most = Math.max(most, performance.now() - last); last = performance.now() }, 5)
  for (let i = 0; i < ${LINES}; i += 1) {
    log.info({ i, filler: 'x'.repeat(150) }, 'line')
    if (i % 100 === 0) await new Promise(setImmediate)
  }
  ${then}
  function done() { process.stderr.write(String(most)) }`

/** Runs a script whose output goes through a pipe of the system to the reader of `stdout`. */
function run(script: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
}

const loggedLine = z.object({ msg: z.string(), lines: z.number().default(0) })

const linesOf = (output: string) =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => loggedLine.parse(JSON.parse(line)))

test('a reader that stops delays nothing; lines are dropped and counted, and none is cut', async () => {
  const child = run(busy('done(); setInterval(() => undefined, 100)'))
  child.stdout?.pause()
  const stood = watchStandstills()
  const [most] = await once(child.stderr ?? child, 'data')
  stood.stop()
  // A machine that stands still holds up this process as well.
  const limitMs = 500 * (await slowness())
  expect(Number(most) - stood.ms()).toBeLessThan(limitMs)
  const read: string[] = []
  const dropped = new Promise<void>((resolve) => {
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      read.push(piece)
      if (read.slice(-2).join('').includes('log.dropped')) resolve()
    })
  })
  child.stdout?.resume()
  await dropped
  child.kill('SIGKILL')
  await once(child, 'close')
  const lines = linesOf(read.join(''))
  const written = lines.filter(({ msg }) => msg === 'line').length
  const told = lines.filter(({ msg }) => msg === 'log.dropped').reduce((sum, each) => sum + each.lines, 0)
  expect(told).toBeGreaterThan(0)
  expect(written + told).toBe(LINES)
})

test('a process ends in time, with its exit code, while nobody reads its log', async () => {
  const child = run(busy('done(); process.exit(3)'))
  child.stdout?.pause()
  const begun = performance.now()
  const [code] = await once(child, 'exit')
  expect(code).toBe(3)
  expect(performance.now() - begun).toBeLessThan(10_000 * (await slowness()))
  child.stdout?.destroy()
})

test.each([
  ['process.exit(4)', 4],
  ["setTimeout(() => { throw new Error('uncaught') })", 1],
])('everything logged before %s reaches a slow reader', async (end, exitCode) => {
  const child = run(`
    import { createLog } from './dist/kernel/log.js'
    const log = createLog({ logLevel: 'info' }, 'test')
    for (let i = 0; i < 3000; i += 1) log.info({ i, filler: 'x'.repeat(150) }, 'line')
    ${end}`)
  child.stdout?.pause()
  setTimeout(() => child.stdout?.resume(), 50)
  const errors = text(child.stderr ?? process.stdin)
  const [output, [code]] = await Promise.all([text(child.stdout ?? process.stdin), once(child, 'exit')])
  expect(code, await errors).toBe(exitCode)
  expect(linesOf(output)).toHaveLength(3_000)
})
