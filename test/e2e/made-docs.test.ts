// Pins: the made parts of docs are those of the product; and on the way of accepting a message and of taking a webhook no file
// calls back into one that has called it, handed-down functions included. Real: the built service in one process, Redis, HTTP.
// Stood in for: WhatsApp.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { z } from 'zod'

test('settings, command line, addresses, the simulator’s numbers and the ways in docs are those of the product', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/docs.mjs', '--check'], { encoding: 'utf8' })
  expect(stderr.replaceAll(/^.*Building.*\n/gm, '')).toBe('')
  expect(status).toBe(0)
})

const part = z.object({
  name: z.string(),
  files: z.array(z.string()).min(10),
  callsBack: z.array(z.string()),
})
const parts = z.array(part).min(1)
const schema = z.strictObject({ accept: parts, send: parts, webhook: parts, campaign: parts })

test('accepting a message and taking a webhook call from file to file in one direction', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/ways.mjs'], { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const ways = schema.parse(JSON.parse(stdout))
  const back = (each: z.infer<typeof parts>) => each.flatMap(({ callsBack }) => callsBack)
  expect({ accept: back(ways.accept), webhook: back(ways.webhook) }).toEqual({ accept: [], webhook: [] })
  // The next ones to be put straight.
  console.log(`calls back: ${JSON.stringify({ send: back(ways.send), campaign: back(ways.campaign) }, null, 2)}`)
})
