import { expect, test } from 'vitest'
import { namingsOf } from '../../src/providers/webhook-names.ts'

const PHONE_NUMBER_ID = '1'
const namesOf = (raw: object) => namingsOf(PHONE_NUMBER_ID, 'contacts', raw).map(({ names }) => names)

test.each(['491711234567', '+49 (0)171 1234567', '+49-171-1234567'])(
  'the number %s is one name, in any spelling',
  (wa_id) => {
    expect(namesOf({ wa_id, user_id: 'DE.7' })).toEqual([['491711234567', 'DE.7']])
    expect(namesOf({ wa_id, from: '491711234567' })).toEqual([])
  },
)

test.each(['5215512345678', '525512345678'])('the Mexican number %s is one name, in either form', (wa_id) => {
  expect(namesOf({ wa_id, user_id: 'MX.7' })).toEqual([['525512345678', 'MX.7']])
  expect(namesOf({ wa_id, from: '5215512345678' })).toEqual([])
})
