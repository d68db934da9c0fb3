// Pins: the form of a campaign asks for exactly what a template needs, and what it makes is accepted by the matcher.
import { expect, test } from 'vitest'
import { previewOf } from '../../packages/console/src/logic/template-preview.ts'
import {
  componentsOf,
  type Filling,
  fillingsFor,
  fillingsOf,
  openSlots,
  type Slot,
  slotsOf,
  type Template,
} from '../../packages/console/src/logic/template-slots.ts'
import { readDemoTemplates } from '../../packages/simulator/demo/data.ts'
import { compileComponents } from '../../src/model/campaigns/parameters.ts'
import { matchTemplate } from '../../src/model/templates/match-template.ts'
import { shapeOf, templateSchema } from '../../src/model/templates/template.ts'
import { templateContentSchema } from '../../src/model/templates/template-content.ts'
import {
  allProducts,
  lastDay,
  oneProduct,
  parsed,
  someProducts,
  visit,
  writtenCode,
} from '../support/example-templates.ts'

const templates = readDemoTemplates()
const named = templateSchema.parse({
  name: 'greeting',
  language: 'en',
  category: 'MARKETING',
  parameter_format: 'NAMED',
  components: [
    { type: 'HEADER', format: 'TEXT', text: 'For {{first_name}}' },
    { type: 'BODY', text: 'Dear {{first_name}}, see you in {{city}}.' },
    { type: 'FOOTER', text: 'The shop' },
    { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Go', url: 'https://shop.example/{{1}}' }] },
  ],
})
const newer = [visit, lastDay, oneProduct, someProducts, allProducts, writtenCode].map(parsed)
const all: [string, Template][] = [...templates, named, ...newer].map((template) => [template.name, template])

/** What a person types where any text will not do. */
const TYPED: Partial<Record<Slot['kind'], string>> = {
  link: 'https://shop.example/a.png',
  number: '12.5',
  moment: '2026-12-01T08:30:00.000Z',
  products: 'Shoes: a-1, a-2; Hats: b-1',
  json: '{"table":4,"of":["a"]}',
}

const filledFor = (template: Template, of: (id: string) => Filling): Map<string, Filling> =>
  new Map(
    slotsOf(template).map(({ id, kind }) => {
      const fixed = TYPED[kind]
      return [id, fixed === undefined ? of(id) : { fixed }]
    }),
  )

test.each(all)('%s: completely filled in, it matches the approved template', (_name, template) => {
  const components = componentsOf(
    template,
    filledFor(template, (id) => ({ fixed: `v ${id}`.slice(0, 15) })),
  )
  const read = templateContentSchema.parse({ name: template.name, language: { code: template.language }, components })
  expect(matchTemplate(shapeOf(template), read.components)).toEqual([])
})

test.each(all)(
  '%s: with values from columns it can be compiled, and has exactly the chosen sources',
  (_name, template) => {
    const components = componentsOf(
      template,
      filledFor(template, () => ({ from: 'row.value' })),
    )
    const compiled = compileComponents(components, 'row')
    expect(compiled).toMatchObject({ ok: true })
  },
)

test.each(all)('%s: a copy finds the values that made the components', (_name, template) => {
  const fillings = filledFor(template, (id) => (id.endsWith('1') ? { from: 'contact.name' } : { fixed: `v ${id}` }))
  expect(fillingsOf(template, componentsOf(template, fillings))).toEqual(fillings)
})

test('a copy of other components leaves open what it cannot find', () => {
  const [, order] = all.find(([name]) => name === 'order_update') ?? []
  if (!order) throw new Error('the demo has lost a template')
  const copied = fillingsOf(order, [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }, 'odd', null])
  expect([...copied]).toEqual([['body 1', { fixed: 'Ada' }]])
  expect(openSlots(slotsOf(order), copied).map(({ id }) => id)).toEqual(['header 1', 'body 2', 'button 0 1'])
})

test('a picture is a file of the gallery when its id is typed, and a copy keeps it', () => {
  const [, sale] = all.find(([name]) => name === 'flash_sale') ?? []
  if (!sale) throw new Error('the demo has lost a template')
  const fillings = new Map([['header link', { fixed: ' 12 ' }]])
  const [header] = componentsOf(sale, fillings)
  expect(header).toEqual({ type: 'HEADER', parameters: [{ type: 'image', image: { gallery: '12' } }] })
  expect(fillingsOf(sale, [header]).get('header link')).toEqual({ fixed: '12' })
  expect(previewOf(sale, fillings).media).toMatchObject({ link: 'file 12 of the gallery' })
})

test('a preview shows the message as the person will get it, and unknown values by name', () => {
  const seen = previewOf(
    named,
    new Map<string, Filling>([
      ['header first_name', { from: 'row.first' }],
      ['body first_name', { fixed: 'Ada' }],
    ]),
  )
  expect(seen).toMatchObject({
    heading: 'For ⟨row.first⟩',
    body: 'Dear Ada, see you in ⟨city⟩.',
    footer: 'The shop',
    buttons: [{ label: 'Go', detail: 'https://shop.example/⟨1⟩' }],
  })
})

test('a preview of a place, an offer, a product, a form and a code shows what the phone will show', () => {
  const seen = (raw: object, ...values: [string, string][]) =>
    previewOf(parsed(raw), new Map(values.map(([id, fixed]) => [id, { fixed }])))
  expect(seen(visit, ['header latitude', '1'], ['header longitude', '2'], ['header name', 'The shop'])).toMatchObject({
    note: 'Map: The shop, 1, 2',
    buttons: [{ label: 'Book' }],
  })
  expect(seen(lastDay)).toMatchObject({ media: { kind: 'gif' }, note: 'Ends soon, ends ⟨time⟩' })
  expect(seen(oneProduct, ['header product', 'a-1']).note).toContain('Product a-1')
  expect(seen(someProducts, ['button 0 products', 'Shoes: a']).buttons).toEqual([
    { label: 'View items', detail: 'Shoes: a' },
  ])
  expect(seen(writtenCode).buttons).toEqual([{ label: 'Copy', detail: '⟨code⟩' }])
  const listedAs = (type: string) => {
    const url = `https://www.whatsapp.com/otp/code/?otp_type=${type}&code=otp{{1}}`
    return { ...writtenCode, components: [{ type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Copy code', url }] }] }
  }
  expect(seen(listedAs('ONE_TAP'), ['button 0 1', '123456']).buttons).toEqual([
    { label: 'Copy code', detail: '123456' },
  ])
  expect(slotsOf(parsed(listedAs('ONE_TAP'))).map(({ label }) => label)).toEqual(['Code of the button “Copy code”'])
  expect(seen(listedAs('ZERO_TAP')).buttons).toEqual([])
  const zeroTap = {
    ...writtenCode,
    components: [{ type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'zero_tap' }] }],
  }
  expect(seen(zeroTap).buttons).toEqual([])
  const order = { ...visit, components: [{ type: 'BUTTONS', buttons: [{ type: 'ORDER_DETAILS', text: 'Pay' }] }] }
  expect(seen(order).buttons).toEqual([{ label: 'Pay', detail: 'cannot be filled in' }])
})

test('values of the recipient are taken from the sample, and are empty without one', () => {
  const fillings = new Map<string, Filling>([
    ['a', { from: 'contact.name' }],
    ['b', { from: 'contact.email' }],
    ['c', { fixed: 'x' }],
  ])
  expect([...fillingsFor(fillings, new Map([['contact.name', 'Ada']]))]).toEqual([
    ['a', { fixed: 'Ada' }],
    ['b', { fixed: '' }],
    ['c', { fixed: 'x' }],
  ])
})
