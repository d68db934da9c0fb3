// The judge of the scenario provider-physics: each rule of WhatsApp that is broken is found, and nothing else.
import { expect, test } from 'vitest'
import { CODE_TEMPLATE } from '../prove/physics/business.ts'
import { figuresOf } from '../prove/physics/judge-worlds.ts'
import type { PhysicsLine } from '../prove/physics/listing.ts'
import { createRandom } from '../prove/random.ts'
import { brokenFigures, type Run } from '../prove/scenario.ts'
import { TEMPLATE } from '../prove/tenant.ts'

const run: Run = {
  random: createRandom(1),
  build: '',
  folder: '',
  tls: undefined,
  full: true,
  quiescenceLimitMs: 1,
  say: () => undefined,
  late: () => undefined,
}

/** The figure whose name begins so, from these lines of the simulator, and whether it breaks its bound. */
function figure(begins: string, ...physics: PhysicsLine[]): { value: number; isBroken: boolean } {
  const played = { seen: [], ledger: [], physics, codeStates: new Map<string, string>(), flagsEarned: 0 }
  const found = figuresOf(played, run).find(({ what }) => what.startsWith(begins))
  if (found === undefined) throw new Error(`no figure begins with ${begins}`)
  return { value: found.value, isBroken: brokenFigures([found]).length > 0 }
}

const WABA = { portfolio: '900' }
const within = { ...WABA, event: 'within_cap', to: '49', told_ms: 1_000 }
const told = { ...WABA, event: 'pause_told', at_ms: 1_000 }
const late = { ...WABA, event: 'template_paused' }

test('a send within a cap counts from half a second after the service was told of the cap', () => {
  const sends = 'sends to a person within their cap'
  expect(figure(sends, { ...within, at_ms: 1_400 })).toEqual({ value: 0, isBroken: false })
  expect(figure(sends, { ...within, at_ms: 1_600 })).toEqual({ value: 1, isBroken: true })
})

test.each([
  ['codes refused by the budget', CODE_TEMPLATE],
  ['marketing refused by the budget', TEMPLATE],
])('%s are counted apart, and none is allowed', (refused, template) => {
  const line = { ...WABA, event: 'over_budget', at_ms: 1 }
  expect(figure(refused, { ...line, template })).toEqual({ value: 1, isBroken: true })
  expect(figure(refused, { ...line, template: 'another' })).toEqual({ value: 0, isBroken: false })
})

test('a request with a paused template counts from a second after the service was told', () => {
  const sends = 'sent although the service had been told'
  expect(figure(sends, told, { ...late, at_ms: 1_900 })).toEqual({ value: 0, isBroken: false })
  expect(figure(sends, told, { ...late, at_ms: 2_100 })).toEqual({ value: 1, isBroken: true })
})

test('a pause that was never reported does not prove that nothing was sent after it', () => {
  const pauses = 'templates of whose pause the service was told'
  expect(figure(pauses, { ...late, at_ms: 9_000 })).toEqual({ value: 0, isBroken: true })
  expect(figure(pauses, told)).toEqual({ value: 1, isBroken: false })
})
