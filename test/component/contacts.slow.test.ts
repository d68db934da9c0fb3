// Pins: fetching contacts by tag in both shapes, creating lists, and every rule of refusal. Real: Redis, Express.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importContacts, type NewContact, readMembers } from '../../src/people/contacts/contacts.ts'
import { createTag, findTag } from '../../src/people/contacts/tags.ts'
import { errorOf } from '../support/api-error.ts'
import { startContacts, type TestContacts } from '../support/contacts.ts'
import { contactsOf } from '../support/state/accounts.ts'
import { NAMES_A_KEY } from '../support/state/everything.ts'

const FETCH = '/api/betav3/tagmanage/tag/fetchContactsTagWise'
const CREATE = '/partners/broadcast/addnewcontacttag'
const XHR = { 'x-requested-with': 'XMLHttpRequest' }

let lists: TestContacts
beforeAll(async () => {
  lists = await startContacts()
})
afterAll(() => lists.close())

const contact = (number: number): NewContact => ({
  phone: String(491700000000 + number),
  name: `Name ${number}`,
  email: number % 2 ? `c${number}@example.org` : '',
})
const contacts = (from: number, count: number) => Array.from({ length: count }, (_, i) => contact(from + i))
const newTag = async (account: number, name: string) => (await createTag(lists.redis, account, name)).id

describe('fetching contacts, shape records', () => {
  test('returns one record per contact and tag, in the order of joining', async () => {
    const { id: account, apiKey } = lists.records
    const [one, two] = [await newTag(account, 'one'), await newTag(account, 'two')]
    await importContacts(lists.redis, account, one, [contact(1), contact(2)])
    await importContacts(lists.redis, account, two, [contact(2), contact(3)])
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [one, two] }, XHR)
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(reply.json).toEqual({ status: true, msg: expect.any(String), data: expect.any(Array) })
    const data = listOf(reply.json.data)
    expect(data.map((each) => [each.tag_id, each.phone, each.name, each.email, each.user_id])).toEqual([
      [one, contact(1).phone, 'Name 1', 'c1@example.org', account],
      [one, contact(2).phone, 'Name 2', null, account],
      [two, contact(2).phone, 'Name 2', null, account],
      [two, contact(3).phone, 'Name 3', 'c3@example.org', account],
    ])
    expect(data[1]?.id).toBe(data[2]?.id)
    expect(new Set(data.map((each) => each.contact_tag_id)).size).toBe(4)
    for (const each of data) expect(Object.values(each).slice(0, 4).every(Number.isSafeInteger)).toBe(true)
  })

  test('counts a tag that is given twice once, and ignores an unknown one', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'twice')
    await importContacts(lists.redis, account, tag, [contact(9)])
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [tag, 999999, tag] })
    expect(listOf(reply.json.data).length).toBe(1)
    const none = await lists.post(FETCH, { api_key: apiKey, tags: [999999] })
    expect([none.status, none.json]).toEqual([200, { status: true, msg: expect.any(String), data: [] }])
  })

  test("returns nothing of another account's tag", async () => {
    const tag = await newTag(lists.contacts.id, 'theirs')
    await importContacts(lists.redis, lists.contacts.id, tag, [contact(1)])
    const reply = await lists.post(FETCH, { api_key: lists.records.apiKey, tags: [tag] })
    expect([reply.status, reply.json.data]).toEqual([200, []])
  })

  test('streams a list of several chunks completely and in order', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'long')
    for (let from = 0; from < 2_500; from += 500) {
      await importContacts(lists.redis, account, tag, contacts(10_000 + from, 500))
    }
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [tag] })
    expect(listOf(reply.json.data).map((each) => each.phone)).toEqual(contacts(10_000, 2_500).map((each) => each.phone))
  })

  test('ends correctly with a list of exactly one chunk', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'exact')
    await importContacts(lists.redis, account, tag, contacts(20_000, 1_000))
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [tag] })
    expect(listOf(reply.json.data).length).toBe(1_000)
  })
})

describe('fetching contacts, shape contacts', () => {
  test('returns one object per contact with all its tags', async () => {
    const { id: account, apiKey } = lists.contacts
    const [one, two, three] = [await newTag(account, 'a'), await newTag(account, 'b'), await newTag(account, 'c')]
    await importContacts(lists.redis, account, one, [contact(501), contact(502)])
    await importContacts(lists.redis, account, three, [contact(502)])
    await importContacts(lists.redis, account, two, [contact(502), contact(503)])
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [one, two] })
    expect(reply.json).toEqual({
      success: true,
      message: expect.any(String),
      data: [
        {
          contact_id: expect.any(Number),
          name: 'Name 501',
          phone: contact(501).phone,
          email: 'c501@example.org',
          tags: [one],
        },
        {
          contact_id: expect.any(Number),
          name: 'Name 502',
          phone: contact(502).phone,
          email: null,
          tags: [one, three, two],
        },
        {
          contact_id: expect.any(Number),
          name: 'Name 503',
          phone: contact(503).phone,
          email: 'c503@example.org',
          tags: [two],
        },
      ],
    })
  })

  test('returns an empty list when a whole chunk was already returned under an earlier tag', async () => {
    const { id: account, apiKey } = lists.contacts
    const [one, two] = [await newTag(account, 'all'), await newTag(account, 'all again')]
    await importContacts(lists.redis, account, one, contacts(30_000, 1_000))
    await importContacts(lists.redis, account, two, contacts(30_000, 1_000))
    await importContacts(lists.redis, account, two, contacts(40_000, 1))
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [one, two] })
    expect(listOf(reply.json.data).length).toBe(1_001)
    expect((await lists.post(FETCH, { api_key: apiKey, tags: [999998] })).json).toMatchObject({
      success: true,
      data: [],
    })
  })
})

describe('refusals of a fetch', () => {
  test.each([
    [{ tags: [1] }, 400, 'api_key'],
    [{ tags: [1], api_key: null }, 400, 'api_key'],
    [{ api_key: 'KEY' }, 400, 'tags'],
    [{ api_key: 'KEY', tags: null }, 400, 'tags'],
    [{ api_key: 'KEY', tags: '1' }, 400, 'tags'],
    [{ api_key: 'KEY', tags: { 0: 1 } }, 400, 'tags'],
    [{ api_key: 'KEY', tags: [1, 0] }, 400, 'tags[1]'],
    [{ api_key: 'KEY', tags: [-1] }, 400, 'tags[0]'],
    [{ api_key: 'KEY', tags: [1.5] }, 400, 'tags[0]'],
    [{ api_key: 'KEY', tags: ['1'] }, 400, 'tags[0]'],
    [{ api_key: 'KEY', tags: [null] }, 400, 'tags[0]'],
    [{ api_key: 'KEY', tags: [2 ** 53] }, 400, 'tags[0]'],
    [{ api_key: 'KEY', tags: [] }, 422, 'tags'],
    [{ api_key: 'KEY', tags: Array.from({ length: 101 }, (_, i) => i + 1) }, 422, 'tags'],
  ])('%j is refused and the field named', async (body, status, path) => {
    const real = 'api_key' in body && body.api_key === 'KEY' ? { ...body, api_key: lists.records.apiKey } : body
    const reply = await lists.post(FETCH, real)
    expect(reply.status).toBe(status)
    expect(errorOf(reply).details.map((each) => each.path)).toContain(path)
  })

  test('100 tags are accepted', async () => {
    const tags = Array.from({ length: 100 }, (_, i) => 900_000 + i)
    expect((await lists.post(FETCH, { api_key: lists.records.apiKey, tags })).status).toBe(200)
  })

  test('a wrong key is refused before the fields are checked', async () => {
    const { key } = lists.records
    const expired = await key(['contacts:read'], Date.now() - 1)
    expect((await lists.post(FETCH, { api_key: 'nonsense', tags: 'x' })).status).toBe(401)
    expect((await lists.post(FETCH, { api_key: expired, tags: [1] })).status).toBe(401)
    expect((await lists.post(FETCH, { api_key: await key(['gallery']), tags: [1] })).status).toBe(403)
  })

  test('a broken record is 500 in the envelope, and reveals nothing of the store', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'broken')
    await importContacts(lists.redis, account, tag, [contact(77)])
    const [member] = await readMembers(lists.redis, account, tag, 0, 1)
    await contactsOf(lists.redis, account)
      .contact(member?.id ?? 0)
      .change({ phone: 'not a number' })
    const reply = await lists.post(FETCH, { api_key: apiKey, tags: [tag] })
    expect(reply.status).toBe(500)
    expect(errorOf(reply).code).toBe('internal')
    expect(JSON.stringify(reply.json)).not.toMatch(/redis|phone|members/i)
    expect(JSON.stringify(reply.json)).not.toMatch(NAMES_A_KEY)
  })

  test('a broken record in a later chunk cuts the answer off instead of ending it as if complete', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'broken later')
    for (const from of [50_000, 51_000, 52_000]) {
      await importContacts(lists.redis, account, tag, contacts(from, 1_000))
    }
    const last = (await readMembers(lists.redis, account, tag, 0, 5_000)).at(-1)
    await contactsOf(lists.redis, account)
      .contact(last?.id ?? 0)
      .remove()
    await expect(lists.post(FETCH, { api_key: apiKey, tags: [tag] })).rejects.toThrow()
  })

  test('a client that hangs up stops the reading, and the next client is served', async () => {
    const { id: account, apiKey } = lists.records
    const tag = await newTag(account, 'hang up')
    for (let from = 0; from < 20_000; from += 1_000) {
      await importContacts(lists.redis, account, tag, contacts(100_000 + from, 1_000))
    }
    const given = new AbortController()
    const response = await fetch(lists.url + FETCH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ api_key: apiKey, tags: [tag] }),
      signal: given.signal,
    })
    given.abort()
    await expect(response.text()).rejects.toThrow()
    expect((await lists.post(FETCH, { api_key: apiKey, tags: [tag] })).status).toBe(200)
  })
})

describe('creating a list', () => {
  const create = (body: unknown, key = lists.records.authToken) => lists.post(CREATE, body, XHR, key)

  test('returns the id of the new tag', async () => {
    const reply = await create({ name: '  Customers  ' })
    expect(reply.status).toBe(200)
    expect(reply.json).toEqual({ status: true, message: expect.any(String), tagId: expect.any(Number) })
    const tag = await findTag(lists.redis, lists.records.id, Number(reply.json.tagId))
    expect(tag).toEqual({ id: reply.json.tagId, name: 'Customers' })
  })

  test.each([
    ['Straße', 'STRASSE'],
    ['café', 'CAFE\u0301'],
    ['ΟΔΟΣ', 'οδος'],
    ['same', ' Same '],
    ['Weiß', 'WEIẞ'],
    ['İzmir', 'i\u0307zmir'],
    ['Ϊ\u0301ota', 'ΐota'],
  ])('%s and %s are the same name', async (first, second) => {
    const made = await create({ name: first })
    const again = await create({ name: second })
    expect(again.status).toBe(400)
    const error = errorOf(again)
    expect(error.code).toBe('duplicate_name')
    expect(error.details).toMatchObject([{ path: 'name', tag_id: made.json.tagId }])
  })

  test("a name that another account uses is free, and that account's tag is not ours", async () => {
    const theirs = await newTag(lists.contacts.id, 'Shared name')
    const reply = await create({ name: 'Shared name' })
    expect(reply.status).toBe(200)
    expect(reply.json.tagId).not.toBe(theirs)
    expect(await findTag(lists.redis, lists.records.id, theirs)).toBeUndefined()
  })

  test('of many requests at once with one name, one creates it', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'Race' })))
    expect(replies.filter((reply) => reply.status === 200).length).toBe(1)
    expect(replies.filter((reply) => reply.status === 400).length).toBe(19)
  })

  test.each([
    [{}, 'required'],
    [{ name: 7 }, 'expected a string, got a number'],
    [{ name: ' \t ' }, 'must not be empty'],
    [{ name: 'x'.repeat(101) }, 'at most 100 characters, got 101'],
  ])('%j is refused with 400', async (body, message) => {
    const reply = await create(body)
    expect(reply.status).toBe(400)
    expect(errorOf(reply).details).toEqual([{ path: 'name', message }])
  })

  test('a request without X-Requested-With is refused, together with the fault of the body', async () => {
    const { authToken } = lists.records
    const missing = await lists.post(CREATE, { name: 'x' }, {}, authToken)
    expect([missing.status, errorOf(missing).details]).toEqual([
      400,
      [{ path: 'X-Requested-With', message: 'required' }],
    ])
    const both = await lists.post(CREATE, {}, { 'x-requested-with': 'fetch' }, authToken)
    expect(errorOf(both).details.map((each) => each.path)).toEqual(['X-Requested-With', 'name'])
  })

  test('a missing, unknown or expired token is 401, one without the permission 403', async () => {
    const { key } = lists.records
    expect((await lists.post(CREATE, { name: 'x' }, XHR)).status).toBe(401)
    expect((await lists.post(CREATE, { name: 'x', api_key: lists.records.authToken }, XHR)).status).toBe(401)
    expect((await create({ name: 'x' }, 'nonsense')).status).toBe(401)
    expect((await create({ name: 'x' }, await key(['contacts:write'], Date.now() - 1))).status).toBe(401)
    expect((await create({ name: 'x' }, await key(['contacts:read']))).status).toBe(403)
  })

  test('a broken record is 500 in the envelope', async () => {
    await contactsOf(lists.redis, lists.records.id).tagNames.change({ cracked: 'no id' })
    const reply = await create({ name: 'Cracked' })
    expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal'])
    await contactsOf(lists.redis, lists.records.id).tagNames.drop('cracked')
  })
})

describe('importing contacts', () => {
  test('an import that is repeated changes nothing', async () => {
    const { id: account } = lists.records
    const tag = await newTag(account, 'again')
    const first = await importContacts(lists.redis, account, tag, contacts(60_000, 10))
    const before = await readMembers(lists.redis, account, tag, 0, 100)
    const second = await importContacts(lists.redis, account, tag, contacts(60_000, 10))
    expect([first, second]).toEqual([
      { created: 10, joined: 10 },
      { created: 0, joined: 0 },
    ])
    expect(await readMembers(lists.redis, account, tag, 0, 100)).toEqual(before)
  })

  test('name and email of a known number are replaced, but never by an empty value', async () => {
    const { id: account } = lists.records
    const tag = await newTag(account, 'replaced')
    const phone = '4915112345678'
    const state = async () => {
      const [member] = await readMembers(lists.redis, account, tag, 0, 1)
      return [member?.name, member?.email]
    }
    await importContacts(lists.redis, account, tag, [{ phone, name: 'Old', email: 'old@example.org' }])
    await importContacts(lists.redis, account, tag, [{ phone, name: '', email: '' }])
    expect(await state()).toEqual(['Old', 'old@example.org'])
    await importContacts(lists.redis, account, tag, [{ phone, name: 'New', email: '' }])
    expect(await state()).toEqual(['New', 'old@example.org'])
  })

  test('into a tag that does not exist is an error and writes nothing', async () => {
    const { id: account } = lists.records
    await expect(importContacts(lists.redis, account, 987654, [contact(70_000)])).rejects.toThrow('no tag 987654')
    expect(await contactsOf(lists.redis, account).phones.field(contact(70_000).phone)).toBeNull()
  })

  test('after any imports in any order, each number is one contact, once in each of its tags', async () => {
    const { id: account } = lists.contacts
    const tags = [await newTag(account, 'm1'), await newTag(account, 'm2'), await newTag(account, 'm3')]
    const known = new Map<string, Set<number>>()
    let next = 200_000
    const chunk = fc.array(fc.record({ who: fc.nat(30), named: fc.boolean() }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), chunk), { maxLength: 6 }), async (imports) => {
        known.clear()
        next += 1_000
        for (const [which, rows] of imports) {
          const tag = tags[which] ?? 0
          const batch = rows.map(({ who, named }) => ({ ...contact(next + who), ...(named ? {} : { name: '' }) }))
          const created = new Set(batch.map((row) => row.phone).filter((phone) => !known.has(phone)))
          const joined = new Set(batch.map((row) => row.phone).filter((phone) => !known.get(phone)?.has(tag)))
          expect(await importContacts(lists.redis, account, tag, batch)).toEqual({
            created: created.size,
            joined: joined.size,
          })
          for (const { phone } of batch) known.set(phone, (known.get(phone) ?? new Set()).add(tag))
        }
        for (const tag of tags) {
          const members = await readMembers(lists.redis, account, tag, 0, 1_000_000)
          const ours = members.filter((member) => known.has(member.phone))
          const expected = [...known].filter(([, carried]) => carried.has(tag)).map(([phone]) => phone)
          expect(ours.map((member) => member.phone).sort()).toEqual(expected.sort())
          for (const member of ours) expect(new Set(member.tags)).toEqual(known.get(member.phone))
        }
      }),
      { numRuns: 50 },
    )
  })
})

function listOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) throw new Error('not a list')
  return value
}
