// Pins: a shell completes nouns, verbs and options by the script that the command line prints. Real: bash.
import { spawnSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'

let script = ''
beforeAll(async () => {
  const run = await runCli(['completion', 'bash'], {})
  expect(run.code, run.stderr).toBe(0)
  script = run.stdout
})

/** What bash offers after these words; the last one is still being typed. */
function offered(...words: string[]): string[] {
  const asked = ['laneway', ...words].map((word) => `'${word}'`).join(' ')
  const ask = `COMP_WORDS=(${asked}); COMP_CWORD=${words.length}; _laneway; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').filter(Boolean)
}

test.each([
  [['port'], ['portfolios']],
  [['portfolios', 'c'], ['create']],
  [['portfolios', 'create', '--da'], ['--daily-limit']],
  [['portfolios', 'set', '1', '--reserve'], ['--reserve-percent']],
  [['portfolios', 'list', '--account', '1', '--js'], ['--json']],
  [['events', 'endpoints', 'rot'], ['rotate-secret']],
  [['templates', 'syncs', '--se'], []],
  [['nobody', 'kn'], []],
])('after %j it offers %j', (words, wanted) => {
  expect(offered(...words)).toEqual(wanted)
})

test('for zsh it is the same script, after what lets zsh read it', async () => {
  const { stdout } = await runCli(['completion', 'zsh'], {})
  expect(stdout.endsWith(`\nbashcompinit\n${script}`)).toBe(true)
})
