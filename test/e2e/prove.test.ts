// `npm run prove` in its small form: every scenario once, about 500 messages each, all zeros.
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startProcess } from '../support/processes.ts'

/** It takes about two minutes by itself and has to share the machine with other tests here. */
const LIMIT_MS = 540_000
vi.setConfig({ testTimeout: LIMIT_MS })

const report = z.object({
  kept: z.boolean(),
  scenarios: z.array(
    z.object({
      scenario: z.string(),
      skipped: z.string().optional(),
      accepted: z.number().optional(),
      lost_silently: z.number().optional(),
      sent_twice_silently: z.number().optional(),
      violations: z.array(z.string()),
    }),
  ),
})

test('every scenario keeps its promise: nothing lost silently, nothing sent twice silently', async () => {
  const prove = startProcess(process.execPath, ['scripts/prove.mjs', '--json', '--seed', '1'], {})
  const { code } = await prove.ended
  const { scenarios, kept } = report.parse(JSON.parse(prove.stdout()))
  const broken = scenarios.filter(({ violations }) => violations.length > 0)
  expect(broken, prove.stderr()).toEqual([])
  for (const { scenario, skipped, accepted, lost_silently, sent_twice_silently } of scenarios) {
    if (skipped !== undefined) continue
    expect({ scenario, lost_silently, sent_twice_silently }).toEqual({
      scenario,
      lost_silently: 0,
      sent_twice_silently: 0,
    })
    expect(accepted, scenario).toBeGreaterThan(0)
  }
  expect({ kept, code }).toEqual({ kept: true, code: 0 })
})

test('an unknown scenario is refused by name', async () => {
  const prove = startProcess(process.execPath, ['scripts/prove.mjs', '--only', 'no-such-thing'], {})
  expect((await prove.ended).code).toBe(1)
  expect(prove.stderr()).toContain('no scenario no-such-thing')
})
