// What holds for every service message: good ones pass, one wrong place gives a fault of that place, nothing crashes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseServiceMessage, parseTemplateMessage } from '../../src/messages/accept/read-send.ts'
import { contentSchema } from '../../src/model/messages/content.ts'
import { textOf } from '../../src/model/messages/text.ts'
import { changed, placesOf, written } from '../support/json-places.ts'
import { goodServiceBody, hostileValue } from '../support/message-arbitraries.ts'

function faultPaths(body: unknown): string[] {
  const parsed = parseServiceMessage(body)
  return parsed.ok ? [] : parsed.faults.map((fault) => fault.path)
}

/** A value of another JSON type than the one it replaces. */
function ofAnotherType(value: unknown): unknown {
  if (typeof value === 'string') return 7
  return Array.isArray(value) ? {} : []
}

test('every good body passes, and its content is read back from storage unchanged', () => {
  fc.assert(
    fc.property(goodServiceBody, (body) => {
      const parsed = parseServiceMessage(body)
      expect(parsed).toMatchObject({ ok: true, message: { input: body.to } })
      if (!parsed.ok) return
      const { to: _to, recipient_type: _type, messaging_product: _product, valid_until: _until, ...content } = body
      expect(parsed.message.content).toEqual(content)
      expect(contentSchema.parse(parsed.message.content)).toEqual(content)
      expect(textOf(parsed.message.content)).not.toBe('')
    }),
  )
})

test('a value of the wrong type at any place is a fault of exactly that place', () => {
  fc.assert(
    fc.property(goodServiceBody, (body) => {
      for (const { path, value } of placesOf(body)) {
        expect(faultPaths(changed(body, path, ofAnotherType(value)))).toContain(written(path))
      }
    }),
  )
})

test('null at any place is a fault of exactly that place', () => {
  fc.assert(
    fc.property(goodServiceBody, (body) => {
      for (const { path } of placesOf(body)) expect(faultPaths(changed(body, path, null))).toContain(written(path))
    }),
  )
})

test('a field left out is a fault of that field, unless it is optional', () => {
  const optional = new RegExp(
    'valid_until$|footer$|description$|caption$|preview_url$|^document.filename$|^context$|^location.(name|address)$|' +
      '^contacts\\[\\d+\\]\\.(?!name$|name\\.formatted_name$)',
  )
  const optionalInLists = /^interactive\.header$|sections\[0\]\.title$/
  fc.assert(
    fc.property(goodServiceBody, (body) => {
      for (const { path } of placesOf(body)) {
        const field = written(path)
        if (typeof path.at(-1) === 'number' || optional.test(field)) continue
        const paths = faultPaths(changed(body, path, undefined))
        if (!optionalInLists.test(field)) expect(paths).toContain(field)
        else expect([[], [field]]).toContainEqual(paths)
      }
    }),
  )
})

test('a text that is far too long is a fault of exactly that place', () => {
  fc.assert(
    fc.property(goodServiceBody, (body) => {
      for (const { path, value } of placesOf(body)) {
        if (typeof value !== 'string') continue
        expect(faultPaths(changed(body, path, 'x'.repeat(5000)))).toContain(written(path))
      }
    }),
  )
})

test('no value at any place makes a parser crash, pollute a prototype or return a long error', () => {
  const anyPlace = fc.tuple(goodServiceBody, fc.nat(), hostileValue).map(([body, nth, value]) => {
    const places = placesOf(body)
    return changed(body, places[nth % places.length]?.path ?? [], value)
  })
  fc.assert(
    fc.property(fc.oneof(anyPlace, hostileValue), (body) => {
      for (const parse of [parseServiceMessage, parseTemplateMessage]) {
        const parsed = parse(body)
        if (parsed.ok) contentSchema.parse(parsed.message.content)
        else {
          expect(parsed.faults).not.toHaveLength(0)
          for (const { message } of parsed.faults) expect(message).toMatch(/^.{1,400}$/s)
        }
      }
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    }),
    { numRuns: 1000 },
  )
})
