// Pins: while Redis is away, requests that are refused for it make a few lines a second, which say how many there were.
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import type { Log } from '../../src/kernel/log.ts'
import { refuse } from '../../src/producer/answer.ts'
import { RedisUnavailableError } from '../../src/redis/errors.ts'
import { silentLog } from '../support/app.ts'

afterEach(() => vi.restoreAllMocks())

test('of a thousand requests that Redis refused in one second, five are logged, and the next line counts the others', () => {
  const lines: object[] = []
  const log: Log = Object.assign(Object.create(silentLog), { warn: (line: object) => lines.push(line) })
  const refused = (id: string): number => {
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    refuse(new RedisUnavailableError('gone'), response, id, log)
    return response.statusCode
  }
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1e9)
  for (let i = 0; i < 1_000; i += 1) expect(refused(`r${i}`)).toBe(503)
  expect(lines).toHaveLength(5)
  expect(lines[0]).toMatchObject({ request_id: 'r0', code: 'unavailable', err: new RedisUnavailableError('gone') })

  clock.mockReturnValue(1e9 + 1_000)
  expect(refused('after')).toBe(503)
  expect(lines.at(-1)).toMatchObject({ request_id: 'after', dropped: 995 })
})
