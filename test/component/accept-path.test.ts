// Pins: how much source a reader has to follow to see one message accepted: the files that run between a request and its
// answer in a built producer, as V8 counts them. Real: Redis, HTTP, the build.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startRedis } from '../support/redis.ts'

const FILES_MAX = 40

test(`at most ${FILES_MAX} files run to accept one message`, async () => {
  const server = await startRedis()
  const script = join(import.meta.dirname, '../support/accept-path.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, server.url])
  const files = z.array(z.string()).parse(JSON.parse(stdout))
  expect(files).toContain('producer/app.js')
  expect(files).toContain('queue/lane/queues.js')
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX)
  await server.stop()
})
