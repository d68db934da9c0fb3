// What holds for every template: components that match it have no faults, and any one thing done wrong to them has a
// fault at the place where it was done.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTemplateMessage } from '../../src/messages/accept/read-send.ts'
import { textOf } from '../../src/model/messages/text.ts'
import { matchTemplate } from '../../src/model/templates/match-template.ts'
import { templateBody } from '../support/example-messages.ts'
import { parsed, shape } from '../support/example-templates.ts'
import { changed, placesOf } from '../support/json-places.ts'
import { hostileValue } from '../support/message-arbitraries.ts'
import { matchedTemplate, type TestComponent } from '../support/template-arbitraries.ts'

/** One thing done wrong: the components with it, and where a fault has to be told. `inside` takes any place within, too. */
type Wrong = { what: string; components: TestComponent[]; path: string; inside?: boolean }

function contentOf(components: unknown) {
  const message = parseTemplateMessage(templateBody({ components }))
  if (!message.ok) throw new Error(`no such shape: ${JSON.stringify(message.faults)}`)
  return message.message.content
}

const faultsOf = (definition: object, components: unknown) =>
  matchTemplate(shape(definition), contentOf(components).template.components)

/** Every way to do one thing wrong in a list of components whose path is `at`. */
function wrongs(list: readonly TestComponent[], at: string): Wrong[] {
  const all = list.flatMap((component, position) => {
    const with_ = (part: Partial<TestComponent>) => list.with(position, { ...component, ...part })
    const here = `${at}[${position}]`
    const faults: Wrong[] = [
      { what: 'repeated', components: [...list, component], path: `${at}[${list.length}]` },
      { what: 'of a type nobody knows', components: with_({ type: 'FOOTER' }), path: `${here}.type` },
      ...parameterWrongs(component, here, with_),
    ]
    if (isNeeded(component)) faults.push({ what: 'left out', components: list.toSpliced(position, 1), path: at })
    if (component.type === 'BUTTON') {
      faults.push({ what: 'of a wrong index', components: with_({ index: 99 }), path: `${here}.index` })
      faults.push({
        what: 'of a wrong sub type',
        components: with_({ sub_type: 'VOICE_CALL' }),
        path: `${here}.sub_type`,
      })
    }
    return [...faults, ...cardWrongs(component, here, with_)]
  })
  return [
    ...all,
    {
      what: 'one too many',
      components: [...list, { type: 'BUTTON', sub_type: 'URL', index: '99' }],
      path: `${at}[${list.length}]`,
      inside: true,
    },
  ]
}

/** Quick replies and catalogues may be left out, and so may what has no parameters; but a flow has to be named. */
function isNeeded({ sub_type, parameters, cards }: TestComponent): boolean {
  if (sub_type === 'QUICK_REPLY' || sub_type === 'CATALOG') return false
  return sub_type === 'FLOW' || (parameters ?? []).length > 0 || cards !== undefined
}

/** Buttons whose parameter may be left out. */
const BARE = ['QUICK_REPLY', 'CATALOG', 'FLOW']

function parameterWrongs(
  { parameters, sub_type }: TestComponent,
  here: string,
  with_: (part: Partial<TestComponent>) => TestComponent[],
): Wrong[] {
  if (!parameters) return []
  const extra = { type: 'payload', payload: 'one too many' }
  const faults: Wrong[] = [
    {
      what: 'a parameter too many',
      components: with_({ parameters: [...parameters, extra] }),
      path: `${here}.parameters`,
      inside: true,
    },
  ]
  parameters.forEach((parameter, position) => {
    const place = `${here}.parameters[${position}]`
    const changedTo = (other: Record<string, unknown>) => with_({ parameters: parameters.with(position, other) })
    if (!BARE.includes(sub_type ?? '')) {
      faults.push({
        what: 'a parameter too few',
        components: with_({ parameters: parameters.toSpliced(position, 1) }),
        path: `${here}.parameters`,
      })
    }
    faults.push({
      what: 'a parameter of another kind',
      components: changedTo({ ...parameter, type: 'voice' }),
      path: `${place}.type`,
    })
    const held = `${parameter.type}`
    faults.push({
      what: 'a parameter that holds nothing',
      components: changedTo({ ...parameter, [held]: undefined }),
      path: `${place}.${held}`,
    })
    faults.push({
      what: 'a parameter that holds a number',
      components: changedTo({ ...parameter, [held]: 7 }),
      path: `${place}.${held}`,
    })
    if ('parameter_name' in parameter) {
      faults.push({
        what: 'a parameter of another name',
        components: changedTo({ ...parameter, parameter_name: 'other' }),
        path: `${place}.parameter_name`,
      })
    }
  })
  return faults
}

function cardWrongs(
  { cards }: TestComponent,
  here: string,
  with_: (part: Partial<TestComponent>) => TestComponent[],
): Wrong[] {
  if (!cards) return []
  const path = `${here}.cards`
  return [
    { what: 'a carousel without cards', components: with_({ cards: [] }), path },
    {
      what: 'a card too many',
      components: with_({ cards: [...cards, { card_index: cards.length, components: [] }] }),
      path,
    },
    ...cards.flatMap((card, position): Wrong[] => [
      { what: 'a card too few', components: with_({ cards: cards.toSpliced(position, 1) }), path },
      {
        what: 'a card of a wrong index',
        components: with_({ cards: cards.with(position, { ...card, card_index: -1 }) }),
        path: `${path}[${position}].card_index`,
      },
      ...wrongs(card.components, `${path}[${position}].components`).map(({ components, ...wrong }) => ({
        ...wrong,
        components: with_({ cards: cards.with(position, { ...card, components }) }),
      })),
    ]),
  ]
}

test('components that match have no faults, in any order', () => {
  fc.assert(
    fc.property(matchedTemplate, ({ definition, components }) => {
      expect(faultsOf(definition, components)).toEqual([])
      expect(faultsOf(definition, components.toReversed())).toEqual([])
    }),
  )
})

test('whatever is filled in, no variable of the body is left in the text', () => {
  fc.assert(
    fc.property(matchedTemplate, ({ definition, components }) => {
      const bare = components.map((component) => ({
        ...component,
        ...(component.type === 'BODY' && { parameters: component.parameters?.map((each) => ({ ...each, text: '#' })) }),
      }))
      expect(textOf(contentOf(bare), parsed(definition))).not.toContain('{{')
    }),
  )
})

test('any single mistake is a fault at the place where it was made', () => {
  fc.assert(
    fc.property(matchedTemplate, ({ definition, components }) => {
      for (const { what, components: wrong, path, inside } of wrongs(components, 'template.components')) {
        const paths = faultsOf(definition, wrong).map((fault) => fault.path)
        const told = paths.some((each) => each === path || (inside === true && each.startsWith(path)))
        if (!told) throw new Error(`${what}: expected a fault at ${path}, got ${JSON.stringify(paths)}`)
      }
    }),
  )
})

test('no value at any place makes the matcher or the text crash', () => {
  fc.assert(
    fc.property(matchedTemplate, fc.nat(), hostileValue, ({ definition, components }, nth, value) => {
      const places = placesOf(components)
      const message = parseTemplateMessage(
        templateBody({ components: changed(components, places[nth % places.length]?.path ?? [], value) }),
      )
      if (!message.ok) return
      const { content } = message.message
      for (const fault of matchTemplate(shape(definition), content.template.components)) {
        expect(fault.path).toMatch(/^template\.components/)
        expect(fault.message).toMatch(/^.{1,400}$/s)
      }
      expect(typeof textOf(content, parsed(definition))).toBe('string')
    }),
    { numRuns: 500 },
  )
})
