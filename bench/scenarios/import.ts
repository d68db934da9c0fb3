// How fast contacts come in from a CSV file through the command line, and how much memory that takes: 1,000,000 rows
// with --full, as many as --people says, else 100,000.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAccount } from '../../src/accounts/accounts.ts'
import { environmentWith } from '../../src/kernel/config.ts'
import type { Bench } from '../bench.ts'
import { phoneOf } from '../campaign.ts'
import { rssMb } from '../process-usage.ts'
import { startRedis } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'

const FULL = 1_000_000
const SMALL = 100_000
const SAMPLE_EVERY_MS = 100

/** The copy of dist/ beside the compiled bench, see scripts/run-aside.mjs. */
const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))

export async function importContacts({ dir, closing, full, people, progress }: Bench): Promise<Figure[]> {
  const rows = people ?? (full ? FULL : SMALL)
  const redis = await startRedis(dir, closing)
  const account = await createAccount(redis.client, 'bench')
  const file = join(dir, 'people.csv')
  await writeRows(file, rows)

  const startedAt = performance.now()
  const child = spawn(
    process.execPath,
    [cli, 'contacts', 'import', file, '--account', String(account), '--tag', 'all'],
    {
      env: environmentWith({ REDIS_URL: redis.url, LANEWAY_DATA_DIR: dir }),
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  const ended = once(child, 'exit')
  const memory: number[] = []
  const sampling = setInterval(() => {
    memory.push(rssMb(child.pid ?? 0))
    progress(`${Math.round((performance.now() - startedAt) / 1_000)} s`)
  }, SAMPLE_EVERY_MS)
  const [code] = await ended
  clearInterval(sampling)
  if (code !== 0) throw new Error(`the import ended with ${code}`)
  const seconds = (performance.now() - startedAt) / 1_000

  const alive = memory.filter((mb) => mb > 0)
  const figure = (what: string, value: number, unit: string): Figure => ({ scenario: 'import', what, value, unit })
  return [
    figure('rows', rows, ''),
    withGoal(figure('contacts imported from CSV', rows / seconds, '/s'), '>= 20000'),
    figure('memory after a tenth of the time', alive[Math.floor(alive.length / 10)] ?? 0, 'MB'),
    figure('memory half-way', alive[Math.floor(alive.length / 2)] ?? 0, 'MB'),
    figure('memory, most', Math.max(...alive), 'MB'),
  ]
}

async function writeRows(file: string, rows: number): Promise<void> {
  const stream = createWriteStream(file)
  stream.write('name,phone,email\n')
  for (let n = 0; n < rows; n += 1) {
    if (!stream.write(`Person ${n},+${phoneOf(n)},p${n}@example.com\n`)) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'finish')
}
