// Pins: requests of flows are opened and answered as a phone expects that uses Node's own crypto; whatever is changed on the way
// opens nothing.
import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { isTokenSigned, newPrivateKey, openRequest, publicKeyOf, readPrivateKey } from '../../src/flows/flow-crypto.ts'
import { phoneAsks, tokenSignature } from '../support/flow-phone.ts'

let text: string
beforeAll(async () => {
  text = await newPrivateKey()
})
const key = () => readPrivateKey(text)
const pem = () => publicKeyOf(key()).pem

test('a new key has 2,048 bits, a public half in PEM and an id that stays the same', () => {
  expect(key().asymmetricKeyDetails?.modulusLength).toBe(2_048)
  expect(pem()).toMatch(/^-----BEGIN PUBLIC KEY-----\n[\s\S]+\n-----END PUBLIC KEY-----\n$/)
  expect(publicKeyOf(key()).id).toMatch(/^[0-9a-f]{16}$/)
  expect(publicKeyOf(key()).id).toBe(publicKeyOf(readPrivateKey(text)).id)
})

test('any request is decrypted, and the phone can read its answer', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(12, 16), (asked, answer, ivBytes) => {
      const phone = phoneAsks(pem(), { asked }, { ivBytes })
      const opened = openRequest(phone.body, [key()])
      expect(JSON.parse(opened?.text ?? '')).toEqual(JSON.parse(JSON.stringify({ asked })))
      expect(phone.read(opened?.seal(JSON.stringify({ answer })) ?? '')).toEqual(JSON.parse(JSON.stringify({ answer })))
    }),
    { numRuns: 50 },
  )
})

test('after a rotation a request under either key is decrypted, and under a third one is not', async () => {
  const other = readPrivateKey(await newPrivateKey())
  const [ours, theirs] = [phoneAsks(pem(), { a: 1 }), phoneAsks(publicKeyOf(other).pem, { a: 2 })]
  expect(openRequest(ours.body, [other, key()])?.text).toBe('{"a":1}')
  expect(openRequest(theirs.body, [other, key()])?.text).toBe('{"a":2}')
  expect(openRequest(theirs.body, [key()])).toBeUndefined()
  expect(openRequest(theirs.body, [])).toBeUndefined()
})

describe('a request that was changed on its way', () => {
  const flip = (base64: string, at: number): string => {
    const bytes = Buffer.from(base64, 'base64')
    const place = at % bytes.length
    bytes[place] = (bytes[place] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  test.each(['encrypted_flow_data', 'encrypted_aes_key', 'initial_vector'] as const)(
    'in its %s is not decrypted',
    (field) => {
      fc.assert(
        fc.property(fc.nat(), (at) => {
          const { body } = phoneAsks(pem(), { action: 'INIT' })
          expect(openRequest({ ...body, [field]: flip(body[field], at) }, [key()])).toBeUndefined()
        }),
        { numRuns: 25 },
      )
    },
  )

  test.each<[string, object]>([
    ['nothing', { encrypted_flow_data: '' }],
    ['less than a tag', { encrypted_flow_data: 'AAAA' }],
    ['a short vector', { initial_vector: 'AAAA' }],
    ['no base64', { encrypted_aes_key: '%%%' }],
  ])('with %s is not decrypted', (_what, change) => {
    const { body } = phoneAsks(pem(), { action: 'INIT' })
    expect(openRequest({ ...body, ...change }, [key()])).toBeUndefined()
  })

  test('with an AES key of another length is not decrypted', () => {
    expect(openRequest(phoneAsks(pem(), { action: 'INIT' }, { keyBytes: 32 }).body, [key()])).toBeUndefined()
  })
})

test('a key with the older padding is not accepted as ours', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const { body } = phoneAsks(publicKey.export({ type: 'spki', format: 'pem' }).toString(), { action: 'INIT' })
  expect(openRequest(body, [key()])).toBeUndefined()
})

describe('the signature of a flow token', () => {
  const claims = { flow_token: 'order-77' }
  const signed = tokenSignature(claims, 'secret')

  test('is valid for the token under any of the app’s secrets', () => {
    expect(isTokenSigned(signed, 'order-77', ['old', 'secret'])).toBe(true)
    expect(isTokenSigned(tokenSignature({}, 'secret'), 'order-77', ['secret'])).toBe(true)
  })

  test.each<[string, string, string]>([
    ['another token', signed, 'order-78'],
    ['another secret', tokenSignature(claims, 'other'), 'order-77'],
    ['no algorithm', tokenSignature(claims, 'secret', 'none'), 'order-77'],
    ['a part too many', `${signed}.x`, 'order-77'],
    ['no signature', signed.slice(0, signed.lastIndexOf('.') + 1), 'order-77'],
    ['no JWT', 'x', 'order-77'],
    ['nothing', '', 'order-77'],
  ])('with %s does not match', (_what, jwt, token) => {
    expect(isTokenSigned(jwt, token, ['secret'])).toBe(false)
  })
})
