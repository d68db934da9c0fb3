// Pins: the settings of the simulator, their defaults, and the sentence for each wrong one.

import { describe, expect, test } from 'vitest'
import { readSimulatorConfig, StartError } from '../../packages/simulator/src/config.ts'

test('an empty environment gives the documented defaults', () => {
  expect(readSimulatorConfig({})).toEqual({
    port: 4010,
    host: '127.0.0.1',
    appSecret: 'simulator-app-secret',
    webhookUrl: null,
    numbers: new Map(),
    tokens: [],
    sentMs: 300,
    deliveredMs: 1500,
    readMs: 4000,
    ledgerFile: null,
    honoursIdempotency: false,
  })
})

test('every setting is read, tokens without spaces around them', () => {
  const config = readSimulatorConfig({
    SIMULATOR_PORT: '0',
    SIMULATOR_HOST: '::1',
    SIMULATOR_APP_SECRET: 's',
    SIMULATOR_WEBHOOK_URL: 'http://127.0.0.1:3000/webhooks/cloud-api',
    SIMULATOR_NUMBERS: '100=447700900001,101=447700900002',
    SIMULATOR_TOKENS: 'a, b,,',
    SIMULATOR_SENT_MS: '0',
    SIMULATOR_DELIVERED_MS: '1',
    SIMULATOR_READ_MS: '2',
    SIMULATOR_LEDGER_FILE: 'ledger.ndjson',
    SIMULATOR_HONOURS_IDEMPOTENCY: '1',
  })
  expect(config).toEqual({
    port: 0,
    host: '::1',
    appSecret: 's',
    webhookUrl: 'http://127.0.0.1:3000/webhooks/cloud-api',
    numbers: new Map([
      ['100', '447700900001'],
      ['101', '447700900002'],
    ]),
    tokens: ['a', 'b'],
    sentMs: 0,
    deliveredMs: 1,
    readMs: 2,
    ledgerFile: 'ledger.ndjson',
    honoursIdempotency: true,
  })
})

test('an empty variable counts as not set', () => {
  expect(readSimulatorConfig({ SIMULATOR_PORT: '', SIMULATOR_WEBHOOK_URL: '' })).toEqual(readSimulatorConfig({}))
})

describe('a wrong setting', () => {
  test.each([
    ['SIMULATOR_PORT', '70000', 'SIMULATOR_PORT must be a whole number from 0 to 65535, got "70000".'],
    ['SIMULATOR_PORT', '4e3', 'SIMULATOR_PORT must be a whole number from 0 to 65535, got "4e3".'],
    [
      'SIMULATOR_NUMBERS',
      '100=+44',
      'SIMULATOR_NUMBERS must be phone_number_id=number pairs separated by commas, got "100=+44".',
    ],
    ['SIMULATOR_READ_MS', '-1', 'SIMULATOR_READ_MS must be a whole number from 0 to 86400000, got "-1".'],
    [
      'SIMULATOR_WEBHOOK_URL',
      'ftp://x',
      'SIMULATOR_WEBHOOK_URL must be an absolute http or https address, got "ftp://x".',
    ],
    ['SIMULATOR_HONOURS_IDEMPOTENCY', 'yes', 'SIMULATOR_HONOURS_IDEMPOTENCY must be 0 or 1, got "yes".'],
  ])('%s=%s is reported in a sentence', (name, value, sentence) => {
    expect(() => readSimulatorConfig({ [name]: value })).toThrow(new StartError(sentence))
  })

  test('does not hide another one', () => {
    expect(() => readSimulatorConfig({ SIMULATOR_PORT: 'x', SIMULATOR_SENT_MS: 'y' })).toThrow(
      /PORT .*; SIMULATOR_SENT_MS /,
    )
  })
})
