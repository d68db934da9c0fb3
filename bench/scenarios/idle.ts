// What the whole service costs while nothing happens: everything that `npm start` runs, after it has settled.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import { startPart, until } from '../part.ts'
import { cpuMs, familyOf } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'

const SETTLE_MS = 15_000
const WATCH_MS = 30_000

export async function idle(bench: Bench): Promise<Figure[]> {
  const data = join(bench.dir, 'data')
  const settings = { PORT: '0', LANEWAY_DATA_DIR: data, LANEWAY_LOG_LEVEL: 'error', REDIS_URL: '' }
  const service = startPart('main.js', settings, bench.closing)
  bench.progress('starting, and settling')
  await until('the service is ready', 60_000, async () => existsSync(join(data, 'demo.json')))
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  bench.progress('watching')
  const pids = familyOf(service.pid)
  const before = cpuMs(pids)
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
  const share = ((cpuMs(pids) - before) / WATCH_MS) * 100
  const what = `CPU of ${pids.length} processes while nothing happens, of one core`
  return [withGoal({ scenario: 'idle', what, value: share, unit: '%' }, '< 1.5')]
}
