// Pins: how much source a reader has to follow to see one message accepted: the files of src/ that run between a request
// and its answer. Real: Redis, HTTP, producer. Counted by V8.
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { imageBody } from '../support/example-messages.ts'
import { type Service, startService } from '../support/service.ts'

/** Once its caches are filled and its scripts loaded, every message takes the same way. */
const WARM_UP = 20
const FILES_MAX = 40
const SRC = fileURLToPath(new URL('../../src/', import.meta.url))

let service: Service
beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service?.close())

/** The files of src/ of which a function was called while `work` went on, by their paths below it. */
async function filesRunBy(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : url))
    .filter((path) => path.startsWith(SRC))
    .map((path) => relative(SRC, path))
    .sort()
}

test(`at most ${FILES_MAX} files run to accept one message`, async () => {
  const { apiKey } = await service.addTenant()
  const send = async () => {
    const body = { ...imageBody, api_key: apiKey }
    expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(200)
  }
  for (let sent = 0; sent < WARM_UP; sent += 1) await send()
  const files = await filesRunBy(send)
  expect(files).toContain('producer/app.ts')
  expect(files).toContain('queue/lane/jobs.ts')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX)
})
