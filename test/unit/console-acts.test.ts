// Pins: whatever the activity can tell, the console has words for.
import { expect, test } from 'vitest'
import { actionText } from '../../packages/console/src/logic/words.ts'
import { ROUTES } from '../../src/producer/api/table.ts'

test('the console has a text for each act over HTTP, and for what the edge refuses', () => {
  const acts = ROUTES.flatMap(({ act }) => (act === undefined ? [] : [act]))
  expect(
    [...acts, 'demo.stop', 'key.refused', 'access.refused'].filter((act) => actionText(act) === undefined),
  ).toEqual([])
})

test('an act unknown to the console has no text, even if objects have a property of its name', () => {
  expect([actionText('constructor'), actionText('lane.unheard_of')]).toEqual([undefined, undefined])
})
