// Pins: which names are one person's comes out the same in whatever order WhatsApp tells, a number that was passed on takes
// nothing of its former owner along, and names keep few bytes without losing a character.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { learn, NAMES_MAX, type Names, type Naming, personOf } from '../../src/model/people/person.ts'
import { packNames, unpackNames } from '../../src/people/names/packed-names.ts'

const NUMBER = '447700900123'
const NEXT = '447700900124'
const ID = 'GB.13491208655302741918'
const NEXT_ID = 'GB.99'

/** Who is known by a name once all of it was told, each name kept as it is stored. */
function told(...namings: Naming[]): Map<string, Names> {
  let stored = new Map<string, Names>()
  for (const naming of namings) {
    const known = new Map([...stored].map(([name, others]) => [name, personOf(name, others)]))
    learn(known, naming)
    stored = new Map([...known].map(([name, person]) => [name, person.filter((other) => other !== name)]))
  }
  return new Map([...stored].map(([name, others]) => [name, personOf(name, others)]))
}

describe('a person', () => {
  test('with number and user id is found by both, the number first', () => {
    const known = told({ names: [ID, NUMBER] })
    expect(known.get(NUMBER)).toEqual([NUMBER, ID])
    expect(known.get(ID)).toEqual([NUMBER, ID])
  })

  test('whose number changes is also found by the old one, until somebody else has it', () => {
    const changed = [{ names: [NUMBER, ID] }, { names: [NEXT, NEXT_ID], before: NUMBER }]
    for (const name of [NUMBER, NEXT, ID, NEXT_ID]) {
      expect(told(...changed).get(name)?.[0]).toBe(NEXT)
      expect([...(told(...changed).get(name) ?? [])].sort()).toEqual([NUMBER, NEXT, ID, NEXT_ID].sort())
    }
    const passedOn = told(...changed, { names: [NUMBER, 'GB.7'] })
    expect(passedOn.get(NUMBER)).toEqual([NUMBER, 'GB.7'])
    expect(passedOn.get('GB.7')).toEqual([NUMBER, 'GB.7'])
    expect([...(passedOn.get(NEXT) ?? [])].sort()).toEqual([NEXT, ID, NEXT_ID].sort())
  })

  test('keeps the current number when an older webhook arrives late', () => {
    const known = told({ names: [NUMBER, ID] }, { names: [NEXT, ID], before: NUMBER }, { names: [NUMBER, ID] })
    expect(known.get(ID)?.[0]).toBe(NEXT)
  })

  test('whose user id is reported with another number keeps their names, until they or a change say otherwise', () => {
    const first = { names: [NUMBER, ID], isReported: true }
    const report = { names: [NEXT, ID], isReported: true }
    const known = told(first, report, { ...report, sentTo: NEXT })
    expect([known.get(ID), known.get(NEXT)]).toEqual([[NUMBER, ID], undefined])
    expect(told(first, report, { names: [NEXT, ID] }).get(ID)).toContain(NEXT)
    expect(told(first, report, { names: [NEXT, ID], before: NUMBER }).get(ID)).toEqual([NEXT, ID, NUMBER])
    // A late report of a message to their former number.
    expect(told(first, { names: [NEXT, ID], before: NUMBER }, first).get(ID)).toEqual([NEXT, ID, NUMBER])
    // The rest of what a report says counts.
    const forms = { names: ['5511987654321', ID, '551187654321'], isReported: true }
    expect(told(first, forms).get('551187654321')).toEqual(['5511987654321', '551187654321'])
  })

  test('without a number gets none that was returned for somebody else, nor one that replaces their own', () => {
    const answered = (id: string, number = NUMBER) => ({ names: [number, id], isReported: true, sentTo: id })
    const known = told(answered(ID), answered(NEXT_ID))
    expect([known.get(ID), known.get(NEXT_ID)]).toEqual([[NUMBER, ID], undefined])
    expect(told(answered(ID), answered(ID, NEXT)).get(ID)).toEqual([NUMBER, ID])
    // A message to the number itself tells its new user id.
    expect(told(answered(ID), { names: [NUMBER, NEXT_ID], isReported: true, sentTo: NUMBER }).get(NUMBER)).toContain(
      NEXT_ID,
    )
  })

  test('whose user id changes is also found by the old one, even without a number', () => {
    const known = told({ names: [NEXT_ID], before: ID })
    expect(known.get(ID)).toContain(NEXT_ID)
    expect(known.get(NEXT_ID)).toContain(ID)
  })

  test('with many names keeps the latest, and dropped ones belong to nobody', () => {
    const ids = Array.from({ length: 9 }, (_, i) => `GB.${i + 1}`)
    const known = told(...ids.map((id) => ({ names: [NUMBER, id] })))
    expect(known.get(NUMBER)).toHaveLength(NAMES_MAX)
    expect(known.get(NUMBER)?.slice(0, 2)).toEqual([NUMBER, 'GB.9'])
    expect(known.get('GB.1')).toEqual(['GB.1'])
  })

  test('is the same person in whatever order and however often pairs of names come', () => {
    const name = fc.constantFrom(NUMBER, ID, NEXT_ID, 'GB.ENT.5', '5215512345678')
    const pair = fc.uniqueArray(name, { minLength: 2, maxLength: 2 }).map((names) => ({ names }))
    const shuffled = fc
      .array(pair, { maxLength: 8 })
      .chain((pairs) =>
        fc.tuple(fc.constant(pairs), fc.shuffledSubarray([...pairs, ...pairs], { minLength: 2 * pairs.length })),
      )
    fc.assert(
      fc.property(shuffled, ([pairs, again]) => {
        const setsOf = (known: Map<string, Names>) =>
          [...new Set([...known.values()].map((each) => [...each].sort().join()))].sort()
        // A number that another one has taken the place of is passed on when a third name comes: that is no matter of order.
        const numbers = new Set(pairs.flatMap(({ names }) => names.filter((each) => /^\d/.test(each))))
        fc.pre(numbers.size < 2)
        expect(setsOf(told(...again))).toEqual(setsOf(told(...pairs)))
      }),
    )
  })
})

describe('packed names', () => {
  const digits = fc.bigInt({ min: 1n, max: 10n ** 20n }).map(String)
  const letters = fc.stringMatching(/^[A-Z]{2}$/)
  const name = fc.oneof(
    digits,
    fc.tuple(letters, fc.boolean(), digits).map(([of, isParent, id]) => `${of}.${isParent ? 'ENT.' : ''}${id}`),
    fc.stringMatching(/^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/),
    fc.stringMatching(/^0\d{0,20}$/),
  )

  test('are unpacked unchanged', () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: NAMES_MAX }), (names) => {
        expect(unpackNames(packNames(names))).toEqual(names)
      }),
    )
  })

  test('take few bytes: a number 5 to 6, a user id of 20 digits 10', () => {
    expect(packNames([NUMBER])).toHaveLength(5)
    expect(packNames(['5511987654321'])).toHaveLength(6)
    expect(packNames([ID])).toHaveLength(10)
  })

  test('are read without an exception from bytes packed otherwise', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void unpackNames(Buffer.from(bytes))))
  })
})
