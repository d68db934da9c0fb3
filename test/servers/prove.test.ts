// The scenarios of `npm run prove` that need real kills, in their small form: about 500 messages each, all zeros. They
// start some hundred processes, which takes too long for `npm test`.
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startProcess } from '../support/processes.ts'

/** It takes about a minute by itself. The limit ends what hangs, on a machine however slow. */
const LIMIT_MS = 3_600_000
vi.setConfig({ testTimeout: LIMIT_MS })

const report = z.object({
  scenarios: z.array(
    z.object({
      scenario: z.string(),
      skipped: z.string().optional(),
      accepted: z.number().optional(),
      lost_silently: z.number().optional(),
      sent_twice_silently: z.number().optional(),
      unsettled: z.number().optional(),
      violations: z.array(z.string()),
      late: z.array(z.string()),
    }),
  ),
})

type Played = z.infer<typeof report>['scenarios']

/** Plays scenarios; the zeros must hold however busy the machine is. */
async function play(...words: string[]): Promise<{ scenarios: Played; told: string }> {
  const prove = startProcess(
    process.execPath,
    ['scripts/run-aside.mjs', 'prove', '--json', '--seed', '1', ...words],
    {},
  )
  await prove.ended
  const { scenarios } = report.parse(JSON.parse(prove.stdout()))
  for (const { scenario, skipped, accepted, lost_silently, sent_twice_silently, violations } of scenarios) {
    if (skipped !== undefined) continue
    // What broke down has no counts, and its violations say why.
    const told = [...violations, prove.stderr()].join('\n')
    expect({ scenario, lost_silently, sent_twice_silently }, told).toEqual({
      scenario,
      lost_silently: 0,
      sent_twice_silently: 0,
    })
    expect(accepted, told).toBeGreaterThan(0)
  }
  return { scenarios, told: prove.stderr() }
}

const brokenOf = (scenarios: Played) => scenarios.filter(({ violations }) => violations.length > 0)

/** Whether it came to its end, so that what it found is all there is. Limits of time may be missed on a busy machine. */
const isWhole = ({ unsettled, violations, late }: Played[number]) =>
  violations.length === 0 && (unsettled === 0 || late.length === 0)

/**
 * Kills of each part, lost answers, a requeue that outlives its workers, a bucket that goes away. `redis-kill` kills
 * workers on the Cloud API wire as well; what the other scenarios promise is held by quicker tests, see
 * docs/how-it-works/guarantees.md.
 */
const PLAYED = ['redis-kill', 'worker-kill-partner-api', 'producer-kill', 'lost-replies', 'requeue-storm', 's3-outage']

test('the scenarios keep their promise: nothing lost silently, nothing sent twice silently', async () => {
  const { scenarios } = await play('--only', PLAYED.join(','))
  const left = scenarios.filter((each) => each.skipped === undefined && !isWhole(each))
  if (left.length === 0) return
  // Other tests run beside this one and slow its processes down past their own time-outs. What was flagged for that, or
  // did not come to rest, has to keep its promise once the scenarios have less company.
  const again = await play('--only', left.map(({ scenario }) => scenario).join(','))
  expect(brokenOf(again.scenarios), again.told).toEqual([])
  expect(
    again.scenarios.filter((each) => !isWhole(each)),
    `too slow to tell, even alone\n${again.told}`,
  ).toEqual([])
})

test.each(['h1', 'h2'])('promises are kept over TLS by %s while the line to WhatsApp fails', async (protocol) => {
  expect(brokenOf((await play('--only', 'provider-line-partner-api', '--tls', protocol)).scenarios)).toEqual([])
})

test.each([
  ['another protocol', ['--tls', 'h3'], 'Allowed choices are h1, h2'],
  ['what is recorded, which is of plain text', ['--tls', 'h2', '--record'], "cannot be used with option '--tls"],
])('TLS is refused for %s', async (_what, words, why) => {
  const prove = startProcess(process.execPath, ['scripts/run-aside.mjs', 'prove', ...words], {})
  expect((await prove.ended).code).toBe(2)
  expect(prove.stderr()).toContain(why)
})

test('--list prints the scenarios with what each must show, and runs none', async () => {
  const prove = startProcess(process.execPath, ['scripts/run-aside.mjs', 'prove', '--list'], {})
  expect(await prove.ended).toMatchObject({ code: 0 })
  expect(prove.stdout()).toMatch(/^worker-kill-cloud-api\n {4}\S.+$/m)
})

test('an unknown scenario is refused by name', async () => {
  const prove = startProcess(process.execPath, ['scripts/run-aside.mjs', 'prove', '--only', 'no-such-thing'], {})
  expect((await prove.ended).code).toBe(2)
  expect(prove.stderr()).toContain('no scenario no-such-thing')
})
