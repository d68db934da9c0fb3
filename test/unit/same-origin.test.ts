// Pins: which pages a session of the console is good for, by what their browser says of them.
import { describe, expect, test } from 'vitest'
import { isSameOrigin } from '../../src/producer/session-cookie.ts'

const post = (headers: Record<string, string>, publicUrl?: string): boolean =>
  isSameOrigin({ method: 'POST', headers: { host: '10.0.0.7:3000', ...headers } }, publicUrl)

describe('behind a proxy that uses another host name', () => {
  const origin = 'https://console.example'

  test('a page of the public address is of our own site', () => {
    expect(post({ origin }, 'https://console.example/')).toBe(true)
    expect(post({ origin })).toBe(false)
  })

  test('a page of another scheme, port or host is not', () => {
    for (const other of ['http://console.example', 'https://console.example:8443', 'https://evil.example', 'null']) {
      expect(post({ origin: other }, 'https://console.example'), other).toBe(false)
    }
  })

  test("the browser's own header about the site takes precedence", () => {
    expect(post({ origin, 'sec-fetch-site': 'cross-site' }, 'https://console.example')).toBe(false)
    expect(post({ origin, 'sec-fetch-site': 'same-origin' })).toBe(true)
  })
})
