// What messages of every kind but lists, buttons, images, audio and templates must look like: each rule once kept and once
// broken.
import { describe, expect, test } from 'vitest'
import { parseServiceMessage } from '../../src/messages/accept/read-send.ts'
import { classOf, contentSchema } from '../../src/model/messages/content.ts'
import { textOf } from '../../src/model/messages/text.ts'
import { bodyOfKind, OTHER_KINDS } from '../support/example-messages.ts'

function contentOf(body: unknown) {
  const parsed = parseServiceMessage(body)
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`)
  return parsed.message.content
}

function faultsOf(body: unknown) {
  const parsed = parseServiceMessage(body)
  return parsed.ok ? [] : parsed.faults
}

const LINK = 'https://files.example/a'
const context = { message_id: 'wamid.X' }

test.each(OTHER_KINDS)(
  '%s is accepted unchanged, read back from storage, and has its text',
  (_kind, type, content, text) => {
    const taken = contentOf(bodyOfKind(type, content))
    expect(taken).toEqual({ type, [type]: content })
    expect(contentSchema.parse(JSON.parse(JSON.stringify(taken)))).toEqual(taken)
    expect(textOf(taken)).toBe(text)
    expect(classOf(taken)).toBe('transactional')
  },
)

describe('the quoted message', () => {
  const kinds = OTHER_KINDS.filter(([, type]) => type !== 'reaction')

  test.each(kinds)('can be combined with %s', (_kind, type, content) => {
    expect(contentOf(bodyOfKind(type, content, { context }))).toEqual({ type, [type]: content, context })
  })

  test('is not part of a reaction, which names its message itself', () => {
    const reaction = { message_id: 'wamid.A', emoji: '👍' }
    expect(contentOf(bodyOfKind('reaction', reaction, { context }))).toEqual({ type: 'reaction', reaction })
  })

  test.each([
    ['context', 'wamid.X', 'expected an object, got a string'],
    ['context.message_id', {}, 'required'],
    ['context.message_id', { message_id: '' }, 'at least 1 character, got 0'],
    ['context.message_id', { message_id: 'x'.repeat(513) }, 'at most 512 characters, got 513'],
  ])('%s is a fault when it is %j', (path, given, message) => {
    expect(faultsOf(bodyOfKind('text', { body: 'Hi' }, { context: given }))).toEqual([{ path, message }])
  })
})

const linkOf = (parameters: object, more: object = {}) => ({
  type: 'cta_url',
  body: { text: 'Look' },
  action: { name: 'cta_url', parameters: { display_text: 'Open', url: LINK, ...parameters } },
  ...more,
})
const card = (more: object) => [{ name: { formatted_name: 'Ada' }, ...more }]
const LABEL = 'interactive.action.parameters.display_text'

describe('a limit', () => {
  test.each<[string, unknown]>([
    ['text', { body: 'x'.repeat(4096) }],
    ['video', { link: LINK, caption: 'x'.repeat(1024) }],
    ['document', { link: LINK, caption: '', filename: 'x'.repeat(240) }],
    ['location', { latitude: -90, longitude: 180, name: 'x'.repeat(1000), address: '' }],
    ['contacts', Array(5).fill(card({})[0])],
    ['reaction', { message_id: 'x', emoji: '👩🏽‍❤️‍💋‍👨🏿' }],
    ['interactive', linkOf({ display_text: 'x'.repeat(20) }, { header: { type: 'image', image: { link: LINK } } })],
  ])('of %s may be reached', (type, content) => {
    expect(faultsOf(bodyOfKind(type, content))).toEqual([])
  })

  test.each<[string, string, unknown, string]>([
    ['text.body', 'text', { body: 'x'.repeat(4097) }, 'at most 4096 characters, got 4097'],
    ['text.body', 'text', { body: '' }, 'at least 1 character, got 0'],
    ['text.body', 'text', {}, 'required'],
    ['text.preview_url', 'text', { body: 'x', preview_url: 'yes' }, 'expected a boolean, got a string'],
    ['video.caption', 'video', { link: LINK, caption: 'x'.repeat(1025) }, 'at most 1024 characters, got 1025'],
    ['document.filename', 'document', { link: LINK, filename: 'x'.repeat(241) }, 'at most 240 characters, got 241'],
    ['document.link', 'document', { filename: 'a.pdf' }, 'required'],
    ['sticker.link', 'sticker', { link: 'ftp://x' }, 'expected an absolute http or https address, got "ftp://x"'],
    ['location.latitude', 'location', { latitude: 90.1, longitude: 0 }, 'at most 90, got 90.1'],
    ['location.longitude', 'location', { latitude: 0, longitude: -181 }, 'at least -180, got -181'],
    ['location.latitude', 'location', { latitude: '1', longitude: 0 }, 'expected a number, got a string'],
    ['contacts', 'contacts', [], 'at least 1 item, got 0'],
    ['contacts', 'contacts', Array(6).fill(card({})[0]), 'at most 5 items, got 6'],
    ['contacts[0].name', 'contacts', [{}], 'required'],
    ['contacts[0].name.formatted_name', 'contacts', [{ name: {} }], 'required'],
    ['contacts[0].birthday', 'contacts', card({ birthday: '1.2.1990' }), 'expected a date such as 1990-01-31'],
    ['contacts[0].phones', 'contacts', card({ phones: Array(21).fill({}) }), 'at most 20 items, got 21'],
    ['reaction.emoji', 'reaction', { message_id: 'x' }, 'required'],
    ['reaction.message_id', 'reaction', { emoji: '👍' }, 'required'],
    ['interactive.action.parameters.url', 'interactive', linkOf({ url: undefined }), 'required'],
    [LABEL, 'interactive', linkOf({ display_text: 'x'.repeat(21) }), 'at most 20 characters, got 21'],
    [LABEL, 'interactive', linkOf({ display_text: '' }), 'at least 1 character, got 0'],
  ])('of %s is broken by %s', (path, type, content, message) => {
    expect(faultsOf(bodyOfKind(type, content))).toEqual([{ path, message }])
  })

  test.each(['ok', '1', '👍👍', 'x👍', ' '])('of a reaction is broken by %j, which is not one emoji', (emoji) => {
    const message = `expected one emoji, or an empty text to take the reaction back, got ${JSON.stringify(emoji)}`
    const path = 'reaction.emoji'
    expect(faultsOf(bodyOfKind('reaction', { message_id: 'x', emoji }))).toEqual([{ path, message }])
  })
})
