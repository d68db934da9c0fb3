// Pins: listing, creating and renaming folders over HTTP, and every rule of refusal. Real: Redis, Express.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorOf } from '../support/api-error.ts'
import { startGallery, type TestGallery } from '../support/gallery.ts'
import { galleryOf } from '../support/state/accounts.ts'
import { NAMES_A_KEY } from '../support/state/everything.ts'

const MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

let gallery: TestGallery
beforeAll(async () => {
  gallery = await startGallery()
})
afterAll(() => gallery.close())

describe('renaming a folder', () => {
  test('changes the name and updated_at and nothing else', async () => {
    const folder = await gallery.folder('Before')
    await gallery.file(folder)
    const before = await gallery.call('GET', '/folders?limit=1000')
    const reply = await gallery.call('PUT', `/folders/${folder.id}`, { body: { name: '  After  ' } })
    expect(reply.status).toBe(200)
    expect(reply.json).toMatchObject({ success: true, message: expect.any(String) })
    expect(reply.json.data).toEqual({
      id: folder.id,
      user_id: String(gallery.account),
      name: 'After',
      parent_id: null,
      is_system: false,
      file_count: 1,
      created_at: expect.stringMatching(MICROS),
      updated_at: expect.stringMatching(MICROS),
      deleted_at: null,
    })
    const after = await gallery.call('GET', '/folders?limit=1000')
    expect(after.json.data).toEqual(expect.arrayContaining([{ ...Object(reply.json.data) }]))
    const [old] = listOf(before.json.data).filter((each) => each.id === folder.id)
    expect(old).toEqual({ ...Object(reply.json.data), name: 'Before', updated_at: old?.updated_at })
    expect(String(Object(reply.json.data).updated_at) > String(old?.updated_at)).toBe(true)
  })

  test.each([
    [{}, 'name', 'required'],
    [{ name: 5 }, 'name', 'expected a string, got a number'],
    [{ name: '   ' }, 'name', 'must not be empty'],
    [{ name: 'x'.repeat(256) }, 'name', 'at most 255 characters, got 256'],
    [{ name: 'a/b' }, 'name', 'must have no slash'],
    [{ name: 'a\nb' }, 'name', 'must have no control characters'],
    [{ name: 'a\u0085b' }, 'name', 'must have no control characters'],
  ])('refuses %j with 400 and names the fault', async (body, path, message) => {
    const folder = await gallery.folder('Kept')
    const reply = await gallery.call('PUT', `/folders/${folder.id}`, { body })
    expect(reply.status).toBe(400)
    expect(errorOf(reply)).toMatchObject({ code: 'invalid_request', details: [{ path, message }] })
  })

  test('accepts 255 characters, counted in UTF-16 code units', async () => {
    const folder = await gallery.folder('Long')
    const fits = `${'😀'.repeat(127)}x`
    expect((await gallery.call('PUT', `/folders/${folder.id}`, { body: { name: fits } })).status).toBe(200)
    expect((await gallery.call('PUT', `/folders/${folder.id}`, { body: { name: `${fits}x` } })).status).toBe(400)
  })

  test.each(['abc', '0', '-1', '1.5', '1e3', '%20', '9007199254740992', '１'])(
    'refuses the path id %s with 400',
    async (id) => {
      const reply = await gallery.call('PUT', `/folders/${id}`, { body: { name: 'x' } })
      expect(reply.status).toBe(400)
      expect(errorOf(reply).details).toMatchObject([{ path: 'folder_id' }])
    },
  )

  test('refuses a missing path id with 400, after the credential', async () => {
    expect((await gallery.call('PUT', '/folders/', { body: { name: 'x' } })).status).toBe(400)
    expect((await gallery.call('PUT', '/folders/', { body: { name: 'x' }, token: null })).status).toBe(401)
  })

  test('names the fault of the path and that of the body in one answer', async () => {
    const reply = await gallery.call('PUT', '/folders/x', { body: {} })
    expect(errorOf(reply).details).toMatchObject([{ path: 'folder_id' }, { path: 'name' }])
  })

  test('answers 404 alike for an unknown folder and for one of another account', async () => {
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    const none = await gallery.call('PUT', '/folders/999999', { body: { name: 'x' } })
    const other = await gallery.call('PUT', `/folders/${theirs.id}`, { body: { name: 'x' } })
    expect([none.status, other.status]).toEqual([404, 404])
    const { request_id: _a, message: one, ...noneError } = errorOf(none)
    const { request_id: _b, message: two, ...otherError } = errorOf(other)
    expect(noneError).toEqual(otherError)
    expect(String(one).replace('999999', '#')).toBe(String(two).replace(String(theirs.id), '#'))
  })

  test('checks the name before the folder, and that it exists before that it is no system folder', async () => {
    const system = await gallery.folder('System', { isSystem: true })
    expect((await gallery.call('PUT', '/folders/999999', { body: { name: '' } })).status).toBe(400)
    expect((await gallery.call('PUT', `/folders/${system.id}`, { body: { name: '' } })).status).toBe(400)
    const refused = await gallery.call('PUT', `/folders/${system.id}`, { body: { name: 'Mine' } })
    expect(refused.status).toBe(403)
    expect(errorOf(refused).code).toBe('system_folder')
    const allowed = await gallery.call('PUT', `/folders/${system.id}`, {
      body: { name: 'Mine' },
      token: gallery.systemToken,
    })
    expect(allowed.json).toMatchObject({ data: { name: 'Mine', is_system: true } })
  })

  test('answers 500 without details of the store when the record is broken', async () => {
    const folder = await gallery.folder('Broken')
    await galleryOf(gallery.redis, gallery.account).folder(folder.id).change({ created_at: 'yesterday' })
    const reply = await gallery.call('PUT', `/folders/${folder.id}`, { body: { name: 'x' } })
    expect(reply.status).toBe(500)
    expect(errorOf(reply).code).toBe('internal')
    expect(JSON.stringify(reply.json)).not.toMatch(/redis|created_at|yesterday/i)
    expect(JSON.stringify(reply.json)).not.toMatch(NAMES_A_KEY)
    await galleryOf(gallery.redis, gallery.account).folder(folder.id).change({ created_at: folder.created_at })
  })
})

describe('credentials', () => {
  test.each([
    ['none', null, 401],
    ['an unknown one', 'lw_nonsense', 401],
    ['an expired one', 'expired', 401],
    ['one without the permission', 'wrong', 403],
  ])('%s are refused on every route', async (_name, which, status) => {
    const token = which === 'expired' ? gallery.expiredToken : which === 'wrong' ? gallery.wrongToken : which
    for (const [method, path] of [
      ['GET', '/folders'],
      ['POST', '/folders'],
      ['PUT', '/folders/1'],
      ['GET', '/files?folder_id=1'],
      ['POST', '/files'],
      ['DELETE', '/files/1'],
      ['POST', '/files/1/restore'],
      ['POST', '/files//restore'],
      ['POST', '/files/bulk-move'],
      ['GET', '/jobs/mv_x'],
    ] as const) {
      const body = method === 'PUT' || path === '/folders' || path.endsWith('move') ? {} : undefined
      const reply = await gallery.call(method, path, { token, ...(body && method !== 'GET' ? { body } : {}) })
      expect([method, path, reply.status]).toEqual([method, path, status])
      errorOf(reply)
    }
  })
})

describe('creating and listing folders', () => {
  test('a new folder is empty, ours and listed', async () => {
    const made = await gallery.call('POST', '/folders', { body: { name: 'New' } })
    expect(made.status).toBe(200)
    expect(made.json.data).toMatchObject({ name: 'New', is_system: false, file_count: 0, parent_id: null })
    const inside = await gallery.call('POST', '/folders', {
      body: { name: 'Inside', parent_id: Object(made.json.data).id },
    })
    expect(inside.json.data).toMatchObject({ name: 'Inside', parent_id: Object(made.json.data).id })
    const listed = listOf((await gallery.call('GET', '/folders?limit=1000')).json.data)
    expect(listed).toEqual(expect.arrayContaining([made.json.data, inside.json.data]))
  })

  test('a system folder cannot be created: the field is refused', async () => {
    const made = await gallery.call('POST', '/folders', { body: { name: 'Not', is_system: true } })
    expect([made.status, errorOf(made).details]).toEqual([400, [{ path: 'is_system', message: 'unknown field' }]])
  })

  test('a parent that does not exist is 404, one that is not an id is 400', async () => {
    expect((await gallery.call('POST', '/folders', { body: { name: 'x', parent_id: 999999 } })).status).toBe(404)
    expect((await gallery.call('POST', '/folders', { body: { name: 'x', parent_id: '1' } })).status).toBe(400)
  })

  test('pages follow each other until next_after is null, and show no folder of another account', async () => {
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    const all = listOf((await gallery.call('GET', '/folders?limit=1000')).json.data)
    const seen: unknown[] = []
    for (let after: unknown = 0; after !== null; ) {
      const { json } = await gallery.call('GET', `/folders?limit=3&after=${after}`)
      expect(listOf(json.data).length).toBeLessThanOrEqual(3)
      seen.push(...listOf(json.data))
      after = json.next_after
    }
    expect(seen).toEqual(all)
    expect(all.map((folder) => folder.id)).not.toContain(theirs.id)
  })

  test.each(['limit=0', 'limit=1001', 'limit=x', 'after=-1', 'limit=1&limit=2'])(
    '%s is refused with 400',
    async (query) => {
      expect((await gallery.call('GET', `/folders?${query}`)).status).toBe(400)
    },
  )
})

function listOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) throw new Error('not a list')
  return value
}
