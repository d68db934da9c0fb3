// How faults are worded. Real: zod. Assert only on paths and sentences.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { nonEmptyTextUpTo, textUpTo } from '../../src/kernel/bounded.ts'
import { quoted } from '../../src/kernel/fault.ts'
import { faultsOf } from '../../src/kernel/zod-faults.ts'

const faults = (schema: z.ZodType, input: unknown, at?: string) => {
  const parsed = schema.safeParse(input)
  if (parsed.success) throw new Error('expected faults, the input passed')
  return faultsOf(parsed.error, input, at)
}

const sentenceOf = (schema: z.ZodType, value: unknown) =>
  faults(z.object({ field: schema }), { field: value })[0]?.message

test.each<[sentence: string, schema: z.ZodType, value: unknown]>([
  ['required', z.string(), undefined],
  ['required', z.literal('chatapp'), undefined],
  ['required', z.discriminatedUnion('type', [z.object({ type: z.literal('a') })]), undefined],
  ['expected a string, got a number', z.string(), 5],
  ['expected a string, got null', z.string(), null],
  ['expected a string, got a boolean', z.string(), true],
  ['expected a number, got a string', z.number(), 'five'],
  ['expected an object, got a list', z.object({}), []],
  ['expected a list, got an object', z.array(z.string()), {}],
  ['expected an integer, got 1.5', z.int(), 1.5],
  ['expected a number, got a string', z.int(), '1'],
  ['expected a string or a number, got a boolean', z.union([z.string(), z.number()]), false],
  ['expected "chatapp", got "whatsapp"', z.literal('chatapp'), 'whatsapp'],
  ['expected "a", "b" or "c", got "d"', z.enum(['a', 'b', 'c']), 'd'],
  ['expected "a" or "b", got 7', z.enum(['a', 'b']), 7],
  ['expected 1, got 9', z.literal(1), 9],
  ['at most 3 characters, got 4', z.string().max(3), 'four'],
  ['at least 1 character, got 0', z.string().min(1), ''],
  ['exactly 2 characters, got 3', z.string().length(2), 'abc'],
  ['at most 1 item, got 2', z.array(z.int()).max(1), [1, 2]],
  ['at least 1 item, got 0', z.array(z.int()).min(1), []],
  ['at most 10, got 11', z.number().max(10), 11],
  ['at least 1, got 0', z.number().min(1), 0],
  ['a sentence of the schema', z.string().refine(() => false, 'a sentence of the schema'), 'x'],
])('a fault is described as: %s (%#)', (sentence, schema, value) => {
  expect(sentenceOf(schema, value)).toBe(sentence)
})

test('lengths are counted in UTF-16 units, which zod alone would not do', () => {
  expect(sentenceOf(textUpTo(3), '🙂🙂')).toBe('at most 3 characters, got 4')
  expect(textUpTo(4).safeParse('🙂🙂').success).toBe(true)
  expect(sentenceOf(nonEmptyTextUpTo(3), '')).toBe('at least 1 character, got 0')
})

test('paths name the field the way it is written in JSON', () => {
  const buttons = z.object({ action: z.object({ buttons: z.array(z.object({ title: z.string() })) }) })
  expect(faults(buttons, { action: { buttons: [{ title: 'a' }, { title: 5 }] } })[0]?.path).toBe(
    'action.buttons[1].title',
  )
})

test('a fault in a part of a body has the path of that part', () => {
  const part = z.object({ text: z.string() })
  expect(faults(part, {}, 'template.components[0]')[0]?.path).toBe('template.components[0].text')
  expect(faults(part, 5, 'template.components[0]')[0]?.path).toBe('template.components[0]')
  expect(faults(z.array(z.string()), [5], 'tags')[0]?.path).toBe('tags[0]')
})

test('a body that is not an object has a fault with an empty path', () => {
  expect(faults(z.object({}), 'text')).toEqual([{ path: '', message: 'expected an object, got a string' }])
})

test('a discriminated union names the wrong field, not the union', () => {
  const header = z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('image'), image: z.object({ link: z.string() }) }),
  ])
  expect(faults(header, { type: 'gif' })).toEqual([{ path: 'type', message: 'expected "text" or "image", got "gif"' }])
  expect(faults(header, { type: 'image', image: {} })).toEqual([{ path: 'image.link', message: 'required' }])
})

test('long values are cut, and odd ones cannot break the sentence', () => {
  expect(quoted('x'.repeat(41))).toBe(`"${'x'.repeat(40)}"…`)
  expect(quoted('x'.repeat(40))).toBe(`"${'x'.repeat(40)}"`)
  expect(quoted('a"b\u0000\n')).toBe('"a\\"b\\u0000\\n"')
  expect(quoted(`${'x'.repeat(39)}🙂`)).toBe(`"${'x'.repeat(39)}"…`)
})

test.each([
  [{ nmae: 'x' }, 'required; is "nmae" meant for it?'],
  [{ Name: 'x' }, 'required; is "Name" meant for it?'],
  [{ title: 'x' }, 'required'],
  // Two letters of four may be changed into any other word.
  [{ time: 'x' }, 'required'],
  [{}, 'required'],
])('a field missing from %j names what looks like a misspelling of it', (body, message) => {
  const parsed = z.object({ name: z.string() }).safeParse(body)
  expect(parsed.success ? [] : faultsOf(parsed.error, body)).toEqual([{ path: 'name', message }])
})
