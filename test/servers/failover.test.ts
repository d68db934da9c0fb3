// Pins: primaries that are killed under load behind Sentinel and in a cluster are followed in time; with a replica required
// nothing is lost and nothing doubled; a rolling update harms nobody. The scenarios of `npm run prove` in their short form.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startProcess } from '../support/processes.ts'

const report = z.object({
  scenarios: z.array(
    z.object({ scenario: z.string(), accepted: z.number().optional(), violations: z.array(z.string()) }),
  ),
})

test.each([
  ...['sentinel-failover', 'sentinel-failover-min-replicas', 'cluster-failover', 'cluster-reshard', 'partition'],
  ...['rolling-update'],
])('the scenario %s keeps its promise', async (name) => {
  const prove = startProcess(
    process.execPath,
    ['scripts/run-aside.mjs', 'prove', '--json', '--seed', '1', '--only', name],
    {},
  )
  await prove.ended
  const { scenarios } = report.parse(JSON.parse(prove.stdout()))
  expect(
    scenarios.map(({ violations }) => violations),
    prove.stderr(),
  ).toEqual([[]])
  expect(scenarios[0]?.accepted, prove.stderr()).toBeGreaterThan(0)
})
