// Pins: listing, trashing and restoring files over HTTP, and every rule of refusal. Real: Redis, Express, the disk.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorOf } from '../support/api-error.ts'
import { startGallery, type TestGallery } from '../support/gallery.ts'
import { galleryOf } from '../support/state/accounts.ts'

const MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

let gallery: TestGallery
beforeAll(async () => {
  gallery = await startGallery()
})
afterAll(() => gallery.close())

const countOf = async (folder: number) => {
  const reply = await gallery.call('GET', `/folders?after=${folder - 1}&limit=1`)
  return listOf(reply.json.data)[0]?.file_count
}

describe('restoring a file', () => {
  test('puts it back into its folder, active, and changes nothing else', async () => {
    const folder = await gallery.folder('Home')
    const file = await gallery.file(folder, 'a.txt')
    const [before] = listOf((await gallery.call('GET', `/files?folder_id=${folder.id}`)).json.data)
    await gallery.call('DELETE', `/files/${file.id}`)
    expect(await countOf(folder.id)).toBe(0)
    const reply = await gallery.call('POST', `/files/${file.id}/restore`)
    expect(reply.status).toBe(200)
    expect(reply.json).toEqual({ success: true, message: expect.any(String), data: before })
    expect(await countOf(folder.id)).toBe(1)
    expect(listOf((await gallery.call('GET', `/files?folder_id=${folder.id}`)).json.data)).toEqual([before])
  })

  test('returns every field of a file', async () => {
    const folder = await gallery.folder('Fields')
    const file = await gallery.file(folder, 'übung 1.txt', 'twelve bytes')
    await gallery.call('DELETE', `/files/${file.id}`)
    const { json } = await gallery.call('POST', `/files/${file.id}/restore`)
    expect(json.data).toEqual({
      id: file.id,
      user_id: String(gallery.account),
      folder_id: folder.id,
      name: 'übung 1.txt',
      original_name: 'übung 1.txt',
      path: `gallery/${file.hash.slice(0, 2)}/${file.hash}`,
      hash: file.hash,
      path_hash: null,
      mime_type: 'text/plain',
      type: 'document',
      extension: 'txt',
      size: 12,
      url: `${gallery.url}/media/${file.token}/%C3%BCbung%201.txt`,
      is_starred: false,
      is_chatapp_compatible: true,
      chatapp_compatibility_reason: expect.any(String),
      uploaded_at: expect.stringMatching(MICROS),
      created_at: expect.stringMatching(MICROS),
      updated_at: expect.stringMatching(MICROS),
      deleted_at: null,
      tags: [],
      folder: expect.objectContaining({ id: folder.id, name: 'Fields', file_count: 1, parent_id: null }),
    })
  })

  test.each([
    ['no body', undefined, undefined],
    ['an empty body with a content type', '', 'application/json'],
    ['an empty object', '{}', 'application/json'],
    ['a body that is not JSON', 'x', 'text/plain'],
  ])('works with %s', async (_name, body, type) => {
    const file = await gallery.file(await gallery.folder('Bodies'))
    await gallery.call('DELETE', `/files/${file.id}`)
    const headers = type === undefined ? {} : { 'content-type': type }
    const reply = await gallery.call('POST', `/files/${file.id}/restore`, {
      headers,
      ...(body === undefined ? {} : { body }),
    })
    expect(reply.status).toBe(200)
  })

  test("answers 404 for an active file, for an unknown one, and for one in another account's trash", async () => {
    const active = await gallery.file(await gallery.folder('Active'))
    const theirs = await gallery.file(await gallery.folder('Theirs', { owner: gallery.otherAccount }))
    await gallery.call('DELETE', `/files/${theirs.id}`, { token: gallery.otherToken })
    for (const id of [active.id, 999999, theirs.id]) {
      const reply = await gallery.call('POST', `/files/${id}/restore`)
      expect([reply.status, errorOf(reply).code]).toEqual([404, 'not_found'])
    }
    expect((await gallery.call('POST', `/files/${theirs.id}/restore`, { token: gallery.otherToken })).status).toBe(200)
  })

  test('a second restore is 404', async () => {
    const file = await gallery.file(await gallery.folder('Twice'))
    await gallery.call('DELETE', `/files/${file.id}`)
    const replies = await Promise.all([1, 2, 3].map(() => gallery.call('POST', `/files/${file.id}/restore`)))
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 404, 404])
  })

  test.each(['abc', '0', '-1', '1.5', '%20', '9007199254740993'])('refuses the path id %s with 400', async (id) => {
    const reply = await gallery.call('POST', `/files/${id}/restore`)
    expect([reply.status, errorOf(reply).details]).toMatchObject([400, [{ path: 'file_id' }]])
  })

  test('refuses a missing path id with 400, after the credential', async () => {
    expect((await gallery.call('POST', '/files//restore')).status).toBe(400)
    expect((await gallery.call('POST', '/files//restore', { token: null })).status).toBe(401)
  })

  test('is 500 when the record is broken', async () => {
    const file = await gallery.file(await gallery.folder('Broken'))
    await gallery.call('DELETE', `/files/${file.id}`)
    await galleryOf(gallery.redis, gallery.account).file(file.id).change({ size: 'large' })
    const reply = await gallery.call('POST', `/files/${file.id}/restore`)
    expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal'])
  })
})

describe('moving a file to the trash', () => {
  test('moves it out of its folder and into the trash, with the time', async () => {
    const folder = await gallery.folder('Away')
    const file = await gallery.file(folder)
    const reply = await gallery.call('DELETE', `/files/${file.id}`)
    expect(reply.json.data).toMatchObject({
      id: file.id,
      folder_id: folder.id,
      deleted_at: expect.stringMatching(MICROS),
    })
    const trash = listOf((await gallery.call('GET', '/files?trash=true&limit=1000')).json.data)
    expect(trash).toContainEqual(reply.json.data)
    expect(listOf((await gallery.call('GET', `/files?folder_id=${folder.id}`)).json.data)).toEqual([])
  })

  test('is 404 for a file already there, an unknown one and one of another account; 400 without an id', async () => {
    const theirs = await gallery.file(await gallery.folder('Theirs', { owner: gallery.otherAccount }))
    const file = await gallery.file(await gallery.folder('Again'))
    await gallery.call('DELETE', `/files/${file.id}`)
    for (const id of [file.id, 999999, theirs.id]) {
      expect((await gallery.call('DELETE', `/files/${id}`)).status).toBe(404)
    }
    expect((await gallery.call('DELETE', '/files/')).status).toBe(400)
    expect((await gallery.call('DELETE', '/files/x')).status).toBe(400)
  })
})

describe('listing files', () => {
  test('pages follow each other by id', async () => {
    const folder = await gallery.folder('Pages')
    for (let i = 0; i < 7; i += 1) await gallery.file(folder, `${i}.txt`)
    const first = await gallery.call('GET', `/files?folder_id=${folder.id}&limit=4`)
    const second = await gallery.call('GET', `/files?folder_id=${folder.id}&limit=4&after=${first.json.next_after}`)
    const names = [...listOf(first.json.data), ...listOf(second.json.data)].map((file) => file.name)
    expect(names).toEqual(['0.txt', '1.txt', '2.txt', '3.txt', '4.txt', '5.txt', '6.txt'])
    expect([typeof first.json.next_after, second.json.next_after]).toEqual(['number', null])
  })

  test.each([
    ['', 400],
    ['trash=false', 400],
    ['trash=yes', 400],
    ['folder_id=1&trash=true', 400],
    ['folder_id=x', 400],
    ['folder_id=999999', 404],
  ])('?%s is answered with %i', async (query, status) => {
    expect((await gallery.call('GET', `/files?${query}`)).status).toBe(status)
  })

  test('a folder of another account does not exist', async () => {
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    expect((await gallery.call('GET', `/files?folder_id=${theirs.id}`)).status).toBe(404)
  })
})

function listOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) throw new Error('not a list')
  return value
}
