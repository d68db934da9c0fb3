// Pins: which components a campaign may have, and what becomes of them for one recipient.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileComponents, structuralFaults } from '../../src/model/campaigns/parameters.ts'
import { matchTemplate } from '../../src/model/templates/match-template.ts'
import { flashSale, lastDay, newArrivals, orderUpdate, shape, visit } from '../support/example-templates.ts'

const text = (value: unknown) => ({ type: 'text', text: value })
const body = (...values: unknown[]) => ({ type: 'BODY', parameters: values.map(text) })

function compiled(components: unknown, offer: 'contact' | 'row' = 'row') {
  const result = compileComponents(components, offer)
  if (!result.ok) throw new Error(JSON.stringify(result.faults))
  return result.compiled
}

function faults(components: unknown, offer: 'contact' | 'row' = 'row') {
  const result = compileComponents(components, offer)
  return result.ok ? [] : result.faults
}

describe('filling in values', () => {
  test('puts each value wherever its source is named, as often as it is named, and leaves the rest', () => {
    const { sources, fill } = compiled([body({ from: 'row.name' }, 'on', { from: 'row.day' }, { from: 'row.name' })])
    expect(sources).toEqual(['row.name', 'row.day'])
    expect(fill(['Ann', 'Monday'])).toEqual([{ type: 'BODY', parameters: ['Ann', 'on', 'Monday', 'Ann'].map(text) }])
  })

  test('reaches media, coupons and the cards of a carousel', () => {
    const card = {
      card_index: 0,
      components: [{ type: 'header', parameters: [{ type: 'image', image: { link: { from: 'row.picture' } } }] }],
    }
    const { fill } = compiled([
      {
        type: 'button',
        sub_type: 'copy_code',
        index: 1,
        parameters: [{ type: 'coupon_code', coupon_code: { from: 'row.code' } }],
      },
      { type: 'carousel', cards: [card] },
    ])
    const [button, carousel] = fill(['https://x.example/1.png', 'SAVE'].reverse())
    expect(button?.parameters).toEqual([{ type: 'coupon_code', coupon_code: 'SAVE' }])
    expect(carousel?.cards?.[0]?.components?.[0]?.parameters).toEqual([
      { type: 'image', image: { link: 'https://x.example/1.png' } },
    ])
  })

  test('reaches places, flows and lists of products, and leaves lists as they are', () => {
    const action = (held: object) => [{ type: 'action', action: held }]
    const flow = { flow_token: { from: 'row.id' }, flow_action_data: { tables: [4, { from: 'row.table' }] } }
    const products = { sections: [{ title: 'Shoes', product_items: [{ product_retailer_id: { from: 'row.shoe' } }] }] }
    const { fill } = compiled([
      { type: 'button', sub_type: 'flow', index: 0, parameters: action(flow) },
      { type: 'button', sub_type: 'mpm', index: 1, parameters: action(products) },
    ])
    expect(fill(['7', 'window', 'a-1']).map(({ parameters }) => parameters)).toEqual([
      action({ flow_token: '7', flow_action_data: { tables: [4, 'window'] } }),
      action({ sections: [{ title: 'Shoes', product_items: [{ product_retailer_id: 'a-1' }] }] }),
    ])
  })

  test('takes a value literally, even when it looks like one of our own placeholders', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        const { fill } = compiled([body({ from: 'row.a' }, { from: 'row.b' })])
        expect(fill([first, second])[0]?.parameters).toEqual([text(first), text(second)])
      }),
    )
    const { fill } = compiled([body('\u00000\u0000', { from: 'row.a' })])
    expect(fill(['Ann'])[0]?.parameters).toEqual([text('0'), text('Ann')])
  })

  test('gives components that the matcher accepts, if template and values fit', () => {
    const components = [
      { type: 'HEADER', parameters: [text({ from: 'row.order' })] },
      body({ from: 'row.name' }, { from: 'row.day' }),
      { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text({ from: 'row.order' })] },
    ]
    const { fill } = compiled(components)
    expect(matchTemplate(shape(orderUpdate), fill(['A-1', 'Ann', 'Monday']))).toEqual([])
    expect(matchTemplate(shape(orderUpdate), fill(['A-1', 'Ann', '']))).not.toEqual([])
  })
})

describe('what is refused', () => {
  test('is a source that the recipients do not have, and an unknown one', () => {
    const at = 'template.components[0].parameters'
    expect(faults([body({ from: 'row.name' }, { from: 'contact.age' })], 'contact')).toEqual([
      { path: `${at}[0].text.from`, message: expect.stringContaining('expected contact.name') },
      { path: `${at}[1].text.from`, message: expect.stringContaining('got "contact.age"') },
    ])
    expect(faults([body({ from: 'contact.name' }, { from: 7 })], 'row')).toHaveLength(2)
  })

  test('is a field beside a source, with the name that was probably meant', () => {
    const at = 'template.components[0].parameters'
    expect(
      faults([body({ from: 'row.name', FROM: 'row.first' }, { form: 'row.day', from: 'row.day', note: 1 })]),
    ).toEqual([
      { path: `${at}[0].text.FROM`, message: 'unknown field; is "from" meant?' },
      { path: `${at}[1].text.form`, message: 'unknown field; is "from" meant?' },
      { path: `${at}[1].text.note`, message: 'unknown field' },
    ])
  })

  test('is nothing that the account passes to its own flow', () => {
    const journey = { from: 'row.city', form: 'return', to: 'Paris' }
    const action = { flow_action_data: { journeys: [journey], ...journey } }
    const { sources, fill } = compiled([
      { type: 'button', sub_type: 'flow', index: 0, parameters: [{ type: 'action', action }] },
    ])
    expect(sources).toEqual([])
    expect(fill([])[0]?.parameters).toEqual([{ type: 'action', action }])
  })

  test('is a value to fill in where no parameter can hold one', () => {
    expect(faults([{ ...body('x'), index: { from: 'row.index' } }])).toEqual([
      { path: 'template.components', message: 'a value can be filled in only where a parameter holds one' },
    ])
  })

  test('are components of a wrong shape, with their place', () => {
    expect(faults([{ parameters: [] }])).toEqual([{ path: 'template.components[0].type', message: 'required' }])
  })
})

describe('structural faults', () => {
  test('are the faults that every recipient would have', () => {
    const components = [
      { type: 'HEADER', parameters: [{ type: 'image', image: { link: { from: 'row.picture' } } }] },
      body('a', 'b'),
    ]
    const found = structuralFaults(shape(flashSale), compiled(components)).map(({ path }) => path)
    expect(found).toEqual(['template.components[1].parameters', 'template.components', 'template.components'])
  })

  test('do not exist where only the values decide', () => {
    const components = [
      { type: 'HEADER', parameters: [{ type: 'image', image: { link: { from: 'row.picture' } } }] },
      body({ from: 'row.name' }),
      { type: 'BUTTON', sub_type: 'URL', index: 0, parameters: [text({ from: 'row.path' })] },
      {
        type: 'BUTTON',
        sub_type: 'COPY_CODE',
        index: 1,
        parameters: [{ type: 'coupon_code', coupon_code: { from: 'row.code' } }],
      },
    ]
    expect(structuralFaults(shape(flashSale), compiled(components))).toEqual([])
  })

  test('include a missing carousel', () => {
    expect(structuralFaults(shape(newArrivals), compiled([]))).toHaveLength(1)
  })
})

test('values of columns fit a place and the end of an offer, as far as is known before they are filled in', () => {
  const from = (column: string) => ({ from: `row.${column}` })
  const place = { type: 'location', location: { latitude: from('lat'), longitude: from('lon'), name: from('name') } }
  const button = { type: 'button', sub_type: 'flow', index: '0' }
  const { compiled: ofPlace } = {
    compiled: compiled([{ type: 'header', parameters: [place] }, body(from('name')), button]),
  }
  expect(structuralFaults(shape(visit), ofPlace)).toEqual([])
  const offer = { type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: from('end') } }
  const ofOffer = compiled([
    { type: 'header', parameters: [{ type: 'gif', gif: { link: from('gif') } }] },
    { type: 'limited_time_offer', parameters: [offer] },
    body(from('name')),
    {
      type: 'button',
      sub_type: 'copy_code',
      index: 0,
      parameters: [{ type: 'coupon_code', coupon_code: from('code') }],
    },
    { type: 'button', sub_type: 'url', index: 1, parameters: [text(from('code'))] },
  ])
  expect(structuralFaults(shape(lastDay), ofOffer)).toEqual([])
})
