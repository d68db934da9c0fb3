// Pins: forms and products of interactive messages, their limits, and what the person reads.
import { describe, expect, test } from 'vitest'
import { parseServiceMessage } from '../../src/messages/accept/read-send.ts'
import { textOf } from '../../src/model/messages/text.ts'

const bodyWith = (interactive: object) => ({
  ...{ to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp' },
  ...{ type: 'interactive', interactive },
})
function read(interactive: object) {
  const parsed = parseServiceMessage(bodyWith(interactive))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
  return parsed.message.content
}
function faults(interactive: object) {
  const parsed = parseServiceMessage(bodyWith(interactive))
  return parsed.ok ? [] : parsed.faults
}

const parameters = { flow_id: '4711', flow_cta: 'Book a time', flow_token: 'order-77' }
const flow = (more: object = {}, beside: object = {}) => ({
  type: 'flow',
  body: { text: 'When shall we come?' },
  action: { name: 'flow', parameters: { ...parameters, ...more } },
  ...beside,
})
const items = (count: number) => Array.from({ length: count }, (_, i) => ({ product_retailer_id: `shoe-${i}` }))
const list = (sections: object[], more: object = {}) => ({
  type: 'product_list',
  header: { type: 'text', text: 'Shoes' },
  body: { text: 'Look' },
  action: { catalog_id: '1', sections },
  ...more,
})

describe('a flow', () => {
  test('is kept unchanged, with the version that WhatsApp requires and the data of its first screen', () => {
    const payload = { screen: 'TIMES', data: { days: ['Monday', 'Tuesday'], open: true, nested: { a: 1 } } }
    const content = read(flow({ flow_action: 'navigate', flow_action_payload: payload, mode: 'draft' }))
    expect(content).toMatchObject({
      interactive: {
        action: {
          parameters: { ...parameters, flow_message_version: '3', flow_action_payload: payload, mode: 'draft' },
        },
      },
    })
    expect(textOf(content)).toBe('When shall we come?')
  })

  test.each<[string, object, { path: string; message: string }]>([
    ['without id and name', flow({ flow_id: undefined }), { path: 'flow_id', message: 'required' }],
    [
      'with both',
      flow({ flow_name: 'times' }),
      { path: '', message: 'expected one of flow_id and flow_name, got both' },
    ],
    [
      'with a long button',
      flow({ flow_cta: 'x'.repeat(31) }),
      { path: 'flow_cta', message: 'at most 30 characters, got 31' },
    ],
    [
      'with too much for its screen',
      flow({ flow_action_payload: { data: { text: 'x'.repeat(9_000) } } }),
      { path: 'flow_action_payload.data', message: 'at most 8192 characters and 500 values, got more' },
    ],
  ])('%s is refused', (_what, interactive, { path, message }) => {
    const at = path === '' ? 'interactive.action.parameters' : `interactive.action.parameters.${path}`
    expect(faults(interactive)).toEqual([{ path: at, message }])
  })
})

describe('products', () => {
  test('one may come without a text, and then its id is the text', () => {
    const content = read({ type: 'product', action: { catalog_id: '1', product_retailer_id: 'shoe-42' } })
    expect(textOf(content)).toBe('shoe-42')
  })

  test('thirty in one message and ten sections are accepted', () => {
    read(list([{ product_items: items(30) }]))
    read(list(Array.from({ length: 10 }, (_, i) => ({ title: `Section ${i}`, product_items: items(3) }))))
  })

  test.each<[string, object, { path: string; message: string }]>([
    [
      'more than thirty over all sections',
      list([
        { title: 'a', product_items: items(20) },
        { title: 'b', product_items: items(11) },
      ]),
      { path: 'interactive.action.sections', message: 'at most 30 products over all sections, got 31' },
    ],
    [
      'two sections of which one has no title',
      list([{ title: 'a', product_items: items(1) }, { product_items: items(1) }]),
      { path: 'interactive.action.sections[1].title', message: 'required when there is more than one section' },
    ],
    [
      'no header',
      list([{ product_items: items(1) }], { header: undefined }),
      { path: 'interactive.header', message: 'required' },
    ],
    [
      'an empty section',
      list([{ product_items: [] }]),
      { path: 'interactive.action.sections[0].product_items', message: 'at least 1 item, got 0' },
    ],
  ])('%s is refused', (_what, interactive, fault) => {
    expect(faults(interactive)).toEqual([fault])
  })

  test('the whole catalogue needs a text, and may show one product', () => {
    const action = { name: 'catalog_message', parameters: { thumbnail_product_retailer_id: 'shoe-42' } }
    expect(read({ type: 'catalog_message', body: { text: 'All' }, action })).toMatchObject({ interactive: { action } })
    expect(faults({ type: 'catalog_message', action })).toEqual([{ path: 'interactive.body', message: 'required' }])
  })
})
