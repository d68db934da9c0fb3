import { expect, test } from 'vitest'
import { cloudApiFaults, partnerApiFaults } from '../../src/messages/accept/provider-support.ts'
import { contentSchema } from '../../src/model/messages/content.ts'
import { audioBody, buttonsBody, imageBody, listBody, templateBody } from '../support/example-messages.ts'

const faultsOf = (body: unknown) => cloudApiFaults(contentSchema.parse(body))
const file = { link: 'https://files.example/a', filename: 'a' }

test.each(['image', 'video', 'document'])('the Cloud API refuses a list with a header of type %s', (type) => {
  const message = `expected "text", the only header the Cloud API takes in a list, got "${type}"`
  expect(faultsOf(listBody({ header: { type, [type]: file } }))).toEqual([{ path: 'interactive.header.type', message }])
})

test('the Cloud API accepts everything else that the interface accepts', () => {
  const image = { type: 'image', image: file }
  const bodies = [
    listBody(),
    listBody({ header: undefined }),
    buttonsBody({ header: image }),
    buttonsBody({ header: undefined }),
    imageBody(),
    audioBody(),
    templateBody(),
  ]
  for (const body of bodies) expect(faultsOf(body)).toEqual([])
})

const partnerFaults = (body: unknown, publicUrl?: string) =>
  partnerApiFaults(contentSchema.parse(body), '447700900123', { publicUrl })

test('the partner wire requires a header with reply buttons', () => {
  expect(partnerFaults(buttonsBody({ header: undefined }))).toEqual([
    { path: 'interactive.header', message: 'required by this sender’s provider' },
  ])
  expect(partnerFaults(buttonsBody())).toEqual([])
})

test('the partner wire accepts files only by their address', () => {
  const gallery = imageBody({ link: undefined, gallery: '7' })
  expect(partnerFaults(gallery).map(({ path }) => path)).toEqual(['image.gallery'])
  expect(partnerFaults(gallery, 'https://laneway.example')).toEqual([])
  const byId = imageBody({ link: undefined, id: '7' })
  expect(partnerFaults(byId, 'https://laneway.example').map(({ path }) => path)).toEqual(['image.id'])
})

test.each([
  ['flow', { name: 'flow', parameters: { flow_id: '1', flow_cta: 'Open' } }],
  ['product', { catalog_id: '1', product_retailer_id: 'shoe' }],
  ['catalog_message', { name: 'catalog_message' }],
])('the partner wire has no %s', (type, action) => {
  const body = { type: 'interactive', interactive: { type, body: { text: 'Hello' }, action } }
  expect(partnerFaults(body).map(({ path }) => path)).toEqual(['interactive.type'])
})
