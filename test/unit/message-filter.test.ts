// Pins: a search by state passes over no message that would be shown in that state, and reads none that would not.
import { expect, test } from 'vitest'
import { lettersOf } from '../../src/lanes/archive/stored-states.ts'
import { listedReceived } from '../../src/messages/lookup/message-document.ts'
import { directionsOf, matches } from '../../src/messages/lookup/message-filter.ts'
import { LETTERS, STATES, shownState } from '../../src/model/messages/lifecycle.ts'

test.each(STATES)('a search for %s uses the letters of exactly the states that are shown that way', (wanted) => {
  const { once, repeated } = lettersOf(wanted)
  for (const [repeats, letters] of [
    [0, once],
    [1, repeated],
  ] as const) {
    for (const state of STATES) {
      const isShownSo = shownState({ state, repeats }) === wanted
      // What waits past its validity is shown as expired.
      const mayBe = wanted === 'expired' && state === 'queued'
      expect(letters.includes(LETTERS[state]), `${state}, ${repeats} repeats`).toBe(isShownSo || mayBe)
    }
  }
})

test('a filter that applies to one direction only excludes the other', () => {
  expect(directionsOf({})).toEqual({ outbound: true, inbound: true })
  expect(directionsOf({ from: '491700000001' })).toEqual({ outbound: false, inbound: true })
  expect(directionsOf({ state: 'delivered' })).toEqual({ outbound: true, inbound: true })
  for (const filter of [
    { to: '491700000001' },
    { state: 'failed' },
    { code: '131026' },
    { campaignId: 'x' },
  ] as const) {
    expect(directionsOf(filter)).toEqual({ outbound: true, inbound: false })
  }
})

test('a message of somebody who only shares a hash with the person matches none of their names', () => {
  const received = { id: 'wamid.1', lane: 1, type: 'text', text: 'Hi', received_at: 0, parts: {} }
  const from = (person: string) => listedReceived({ ...received, from: person }, undefined)
  const names = ['491700000001', 'DE.1']
  expect([...names, 'DE.2', ''].map((person) => matches(from(person), { names }))).toEqual([true, true, false, false])
  expect(matches(from('DE.1'), { names, direction: 'outbound' })).toBe(false)
})
