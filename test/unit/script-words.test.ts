// Pins: scripts end with 2, naming it, for a word on their command line that they do not know; none passes it over.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readOptions, typedNumber, typedWholeNumber } from '../../bench/command-line.ts'

/** How a script ends that gets these words, and what it says. */
async function run(script: string, ...words: string[]) {
  const child = spawn(process.execPath, [`scripts/${script}.mjs`, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [status, out, said] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { status, out, said }
}

test.each([
  ['npm run build', ['build']],
  ['npm run audit:lock', ['audit-lock']],
  ['npm run packages', ['carried']],
  ['npm start', ['start']],
  ['npm run worker', ['run', 'worker']],
] as const)('%s takes no words and refuses one by name', async (command, [script, ...words]) => {
  const { status, out, said } = await run(script, ...words, '--fast')
  expect({ status, out }).toEqual({ status: 2, out: '' })
  expect(said).toContain(`${command} takes nothing, got --fast.`)
})

test.each([
  ['npm run check', 'check', '--staged'],
  ['npm run test:bullmq', 'test-bullmq', '--pinned'],
  ['npm run setup-hooks', 'setup-hooks', '--remove'],
] as const)('%s names the word that it knows when it refuses another', async (command, script, known) => {
  const { status, said } = await run(script, known, '--stagedd')
  expect({ status, said }).toEqual({ status: 2, said: `${command} takes nothing but -- ${known}, got --stagedd.\n` })
})

test('the bench refuses what is no number, names the option, and never measures with NaN', () => {
  const left = new Error('left')
  const exit = process.exit
  const write = process.stderr.write
  const seen: unknown[] = []
  try {
    process.exit = (status) => {
      seen.push(status)
      throw left
    }
    process.stderr.write = (said: unknown) => seen.push(said) > 0
    const schema = z.object({ rounds: typedWholeNumber(1, 10), seconds: typedNumber(0.1, 10) })
    expect(readOptions(schema, { rounds: '3', seconds: '0.5' }, 'HELP')).toEqual({ rounds: 3, seconds: 0.5 })
    expect(() => readOptions(schema, { rounds: 'abc', seconds: '5' }, 'HELP')).toThrow(left)
  } finally {
    process.exit = exit
    process.stderr.write = write
  }
  expect(seen).toEqual(['--rounds: must be a number\n\nHELP\n', 2])
})
