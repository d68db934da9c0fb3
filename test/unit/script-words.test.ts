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

test.each([['build'], ['run', 'start'], ['run', 'worker']])(
  '%s %s accepts no arguments and refuses one by name',
  async (...words) => {
    const [script = '', ...rest] = words
    for (const word of ['--fast', 'fast']) {
      const { status, out, said } = await run(script, ...rest, word)
      expect({ status, out }).toEqual({ status: 2, out: '' })
      expect(said).toContain(`'${word}'`)
    }
  },
)

test.each([
  ['check', '--staged'],
  ['test-bullmq', '--pinned'],
  ['pin-images', '--check'],
])('%s refuses a misspelt option by name', async (script, known) => {
  const { status, said } = await run(script, known, `${known}d`)
  expect(status).toBe(2)
  expect(said).toContain(`'${known}d'`)
})

test('the bench refuses a value that is not a number, names the option, and never measures with NaN', () => {
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
