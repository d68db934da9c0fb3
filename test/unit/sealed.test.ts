// Pins: texts sealed under LANEWAY_DATA_KEY open under each key of the list and under no other; what stands in clear is read
// as it is; what stands for a person is the same each time, and says nothing of them.
import { afterEach, expect, test } from 'vitest'
import { isForeignPayload, type SendPayload, sendPayloadSchema, storedPayload } from '../../src/jobs/send.ts'
import { personHash } from '../../src/kernel/message-id.ts'
import {
  DataKeyError,
  indexHashesOf,
  indexHashOf,
  isForeignSeal,
  nameOfPerson,
  namesOfPerson,
  openText,
  sealText,
  useDataKeys,
} from '../../src/kernel/sealed.ts'

const OLD = 'the old data key, of 32 characters and more'
const NEW = 'the new data key, of 32 characters and more'
const TEXT = 'Grüße, your table | is 🍕 ready'
const PERSON = '491520880011'

afterEach(() => useDataKeys([]))

test('without a key nothing is sealed and nothing is opened', () => {
  expect(sealText(TEXT)).toBe(TEXT)
  expect(nameOfPerson(PERSON)).toBe(PERSON)
  expect(namesOfPerson(PERSON)).toEqual([PERSON])
  expect(indexHashOf(PERSON)).toBe(personHash(PERSON))
  useDataKeys([OLD])
  const sealed = sealText(TEXT)
  useDataKeys([])
  expect(openText(sealed)).toBe(sealed)
})

test('a sealed text reveals nothing of itself, differs each time, and opens', () => {
  useDataKeys([OLD])
  const sealed = sealText(TEXT)
  expect(sealed).not.toContain('table')
  expect(sealed).not.toMatch(/[|,\s\p{Cc}]/u)
  expect(sealText(TEXT)).not.toBe(sealed)
  expect(openText(sealed)).toBe(TEXT)
  expect(sealText('')).toBe('')
})

test('the first key seals, all keys open, and unsealed text is still read', () => {
  useDataKeys([OLD])
  const sealed = sealText(TEXT)
  useDataKeys([NEW, OLD])
  expect(openText(sealed)).toBe(TEXT)
  expect(openText(TEXT)).toBe(TEXT)
  const anew = sealText(TEXT)
  useDataKeys([NEW])
  expect(openText(anew)).toBe(TEXT)
  expect(isForeignSeal(sealed)).toBe(true)
  expect(() => openText(sealed)).toThrow(DataKeyError)
})

test('a sealed text that was changed does not open', () => {
  useDataKeys([OLD])
  const sealed = sealText(TEXT)
  const changed = sealed.slice(0, -6) + (sealed.at(-6) === 'A' ? 'B' : 'A') + sealed.slice(-5)
  expect(() => openText(changed)).toThrow(DataKeyError)
  expect(() => openText(sealed.slice(0, 20))).toThrow(DataKeyError)
})

test('a person is found under their hashes from before there was a key, and under each key', () => {
  useDataKeys([OLD])
  const [name, mark] = [nameOfPerson(PERSON), indexHashOf(PERSON)]
  expect(name).toMatch(/^[\w-]{22}$/)
  expect(name).not.toContain(PERSON)
  expect(mark).not.toBe(personHash(PERSON))
  useDataKeys([NEW, OLD])
  expect(namesOfPerson(PERSON)).toEqual([nameOfPerson(PERSON), name, PERSON])
  expect(indexHashesOf(PERSON).map((bytes) => bytes.readUInt32LE())).toEqual([
    indexHashOf(PERSON),
    mark,
    personHash(PERSON),
  ])
})

const payload: SendPayload = {
  v: 1,
  to: PERSON,
  class: 'campaign',
  content: { type: 'text', text: { body: TEXT } },
  until: 1_800_000_000_000,
  run: 7,
  filled: ['Ada'],
}

test('in the payload of a job the fields for the lane are unsealed, and the rest is read back', () => {
  useDataKeys([OLD])
  const stored = JSON.parse(JSON.stringify(storedPayload(payload)))
  expect(stored).toMatchObject({ v: 1, class: 'campaign', until: 1_800_000_000_000, run: 7 })
  expect(JSON.stringify(stored)).not.toMatch(/491520880011|table|Ada/)
  expect(sendPayloadSchema.parse(stored)).toEqual(payload)
  expect(isForeignPayload(stored)).toBe(false)
  // And one of before.
  expect(sendPayloadSchema.parse(JSON.parse(JSON.stringify(payload)))).toEqual(payload)
})

test('a payload under a missing key is distinguished from a broken one', () => {
  useDataKeys([OLD])
  const stored = JSON.parse(JSON.stringify(storedPayload(payload)))
  for (const keys of [[], [NEW]]) {
    useDataKeys(keys)
    expect(sendPayloadSchema.safeParse(stored).success).toBe(false)
    expect(isForeignPayload(stored)).toBe(true)
  }
  useDataKeys([OLD])
  expect(sendPayloadSchema.safeParse({ ...stored, sealed: 'nonsense' }).success).toBe(false)
  expect(isForeignPayload({ ...stored, sealed: 'nonsense' })).toBe(false)
})
