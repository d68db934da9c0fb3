// Pins: the description is a valid OpenAPI document without a warning. (The linter takes seconds of CPU time to start.)
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createDescription } from '../../src/producer/openapi/document.ts'

const document = createDescription('1.2.3')
const folder = mkdtempSync(join(tmpdir(), 'laneway-openapi-'))
afterAll(() => rmSync(folder, { recursive: true }))
const lint = (content: object) => {
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(content))
  const run = spawnSync(
    process.execPath,
    ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--config=redocly.yaml', '--format=json'],
    // It would tell its makers of each run, and ask them for a newer one.
    { encoding: 'utf8', env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  )
  const found = z.object({ problems: z.array(z.object({ ruleId: z.string(), message: z.string() })) })
  return found.parse(JSON.parse(run.stdout.slice(run.stdout.indexOf('{')))).problems
}

test('the linter finds no error and no warning in the description', () => {
  expect(lint(document)).toEqual([])
})

test('the linter would find a broken reference', () => {
  const broken = JSON.parse(
    JSON.stringify(document).replaceAll('#/components/schemas/Folder"', '#/components/schemas/Floder"'),
  )
  expect(lint(broken).length).toBeGreaterThan(0)
})
