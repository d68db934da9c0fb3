import { expect, test } from 'vitest'
import { cloudApiFaults } from '../../src/messages/accept/prepare-message.ts'
import { contentSchema } from '../../src/messages/content.ts'
import { audioBody, buttonsBody, imageBody, listBody, templateBody } from '../support/example-messages.ts'

const faultsOf = (body: unknown) => cloudApiFaults(contentSchema.parse(body))
const file = { link: 'https://files.example/a', filename: 'a' }

test.each(['image', 'video', 'document'])('the Cloud API refuses a list with a header of type %s', (type) => {
  const message = `expected "text", the only header the Cloud API takes in a list, got "${type}"`
  expect(faultsOf(listBody({ header: { type, [type]: file } }))).toEqual([{ path: 'interactive.header.type', message }])
})

test('the Cloud API takes everything else as we do', () => {
  const image = { type: 'image', image: file }
  const bodies = [
    listBody(),
    listBody({ header: undefined }),
    buttonsBody({ header: image }),
    imageBody(),
    audioBody(),
    templateBody(),
  ]
  for (const body of bodies) expect(faultsOf(body)).toEqual([])
})
