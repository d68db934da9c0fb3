// Pins: a worker whose log nobody reads any more goes on sending. Real: Redis, producer, simulator; the worker is a
// process of its own, whose output goes into a pipe that is full after some hundred lines.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readStats } from '../../src/telemetry/store/history.ts'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { startChild } from '../testbed/children.ts'

/** Their lines at level debug are more than what the pipe and the reader's own buffer hold. */
const MESSAGES = 1_200

let service: Service
beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service?.close())

test('a worker sends all messages although the reader of its log stopped reading', async () => {
  const { api, partnerLane } = await service.addTenant()
  const worker = startChild(process.execPath, ['dist/start/worker.js'], {
    env: {
      PATH: process.env.PATH,
      ...service.settings,
      LANEWAY_SECRET_KEY: secretKeysOf(service.config)[0] ?? '',
      LANEWAY_LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  worker.stdout?.pause()
  try {
    const message = {
      ...{ messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' },
      audio: { link: 'https://example.com/a.mp3' },
    }
    for (let sent = 0; sent < MESSAGES; sent += 100) {
      const messages = Array.from({ length: 100 }, () => message)
      const answer = await api.post('/messages/batch', { messages })
      expect(answer.status).toBe(200)
    }
    await eventually(
      async () => {
        const nowMs = Date.now()
        const { points } = await readStats(service.redis, [partnerLane], { sinceMs: nowMs - 3_600_000, nowMs })
        const sent = points.reduce((total, point) => total + point.sent, 0)
        if (sent < MESSAGES) throw new Error(`${sent} sent`)
        return sent === MESSAGES
      },
      'all messages sent, as the history has it',
      100_000,
    )
    // Its pipe was full, and is still: nobody has read it.
    expect(worker.stdout?.readableFlowing).toBe(false)
    expect(worker.exitCode).toBeNull()
  } finally {
    worker.kill('SIGKILL')
  }
})
