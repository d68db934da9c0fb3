// Pins: nothing that a person was sent gets into the log by way of an error.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createLog, loggedError } from '../../src/log.ts'

/** As ioredis throws it. */
const refused = () =>
  Object.assign(new Error('OOM command not allowed', { cause: new Error('maxmemory') }), {
    name: 'ReplyError',
    code: 'OOM',
    command: { name: 'evalsha', args: ['t', '447700900123', 'x', 'Your code is 1234'] },
    previousErrors: [Object.assign(new Error('OOM'), { command: { name: 'hset', args: ['447700900123'] } })],
  })

test('an error is logged without the command that failed', () => {
  const logged = loggedError(refused())
  expect(JSON.stringify(logged)).not.toMatch(/447700900123|1234/)
  expect(logged).toMatchObject({ code: 'OOM', message: expect.stringContaining('OOM command not allowed') })
  expect(logged).toMatchObject({ stack: expect.stringContaining('caused by: Error: maxmemory') })
})

test('the log writes its errors that way', () => {
  const log = createLog({ logLevel: 'info' }, 'test')
  expect(Reflect.get(log, pino.symbols.serializersSym)).toMatchObject({ err: loggedError })
})
