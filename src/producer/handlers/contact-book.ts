// Contacts of an account: looked for, created, imported, changed and deleted.
import { once } from '../../accept/once.ts'
import { importCsv } from '../../contacts/commands/import-csv.ts'
import { changeContact, makeContact, removeContact, showContact } from '../../contacts/commands/one-contact.ts'
import { findContacts, MEMBER_CURSOR, SCAN_CURSOR } from '../../contacts/store/find-contacts.ts'
import { findContact, newContactId } from '../../contacts/store/one-contact.ts'
import { countMembers, findTag, listTags } from '../../contacts/store/tags.ts'
import { counted } from '../../messages/fault.ts'
import { bodyDigest } from '../../messages/store/idempotency.ts'
import type { Redis } from '../../redis/connect.ts'
import { bind, type Route } from '../bind.ts'
import { ApiError, invalid, notFound } from '../errors.ts'
import { flowing } from '../flowing.ts'
import { pageOfAll } from '../pages.ts'
import type { CallOf } from '../route.ts'
import { contactBook, IMPORT_MAX_BYTES, REFUSED_SHOWN } from '../routes/contact-book.ts'

/** The routes of routes/contact-book.ts. */
export const contactBookRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(contactBook)({
    async list({ caller: { account }, query: { tag, q: text, limit, cursor } }) {
      if (cursor !== undefined && !(tag === undefined ? SCAN_CURSOR : MEMBER_CURSOR).test(cursor)) {
        throw invalid([{ path: 'cursor', message: 'expected `next` of the page before' }])
      }
      if (tag !== undefined && !(await findTag(redis, account, tag))) throw notFound('The list')
      const { contacts, next } = await findContacts(redis, account, { tag, text, limit, cursor })
      return { body: { status: true, data: contacts, next } }
    },

    async tags({ caller: { account }, query }) {
      const { data, next } = pageOfAll(await listTags(redis, account), { cursor: undefined, ...query })
      const counts = await countMembers(redis, account, data)
      return { body: { status: true, data: data.map((tag, i) => ({ ...tag, contacts: counts[i] ?? 0 })), next } }
    },

    import: (call) => importRows(redis, call),

    async create({ caller: { account }, body, sent, headers }) {
      const use = { account, route: 'contact', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const data = await once(redis, use, {
        prepare: async () => ({ name: String(await newContactId(redis)), work: undefined }),
        make: (id) => makeContact(redis, account, Number(id), body),
        find: (id) => findContact(redis, account, Number(id)),
      })
      return { status: 201, body: { status: true, message: 'created', data } }
    },

    async show({ caller, params }) {
      return { body: { status: true, message: 'contact', data: await showContact(redis, caller.account, params.id) } }
    },

    async change({ caller, params, body, note }) {
      const { name, email, ...rest } = body
      const fields = { ...rest, name: name === null ? '' : name, email: email === null ? '' : email }
      note({ detail: Object.keys(body).join(',') })
      const data = await changeContact(redis, caller.account, params.id, fields)
      return { body: { status: true, message: 'changed', data } }
    },

    async remove({ caller, params }) {
      await removeContact(redis, caller.account, params.id)
      return { body: { status: true, message: 'deleted' } }
    },
  })

async function importRows(redis: Redis, { caller, query, incoming, note }: CallOf<typeof contactBook.import>) {
  const refusedRows: { line: number; reason: string }[] = []
  const report = {
    async add(line: number, reason: string) {
      if (refusedRows.length < REFUSED_SHOWN) refusedRows.push({ line, reason })
    },
  }
  try {
    refuseOtherTypes(incoming.headers)
    // What announces its size need not be read first.
    if (Number(incoming.headers['content-length'] ?? 0) > IMPORT_MAX_BYTES) throw tooLarge(IMPORT_MAX_BYTES)
    const source = upTo(IMPORT_MAX_BYTES, flowing(incoming))
    const { tag, ...counts } = await importCsv(redis, { account: caller.account, tag: query.tag, source, report })
    note({ target: `tag ${tag.id}`, detail: `${counts.imported} rows` })
    const data = { tag, ...counts, refused_rows: refusedRows }
    return { body: { status: true as const, message: 'imported', data } }
  } catch (error) {
    // What is left of it is read and dropped, so that the client gets to read the answer.
    incoming.resume()
    if (incoming.destroyed && !incoming.complete) {
      throw new ApiError(400, 'invalid_body', 'The body ended before its announced length.')
    }
    throw error
  }
}

function refuseOtherTypes(headers: CallOf<typeof contactBook.import>['incoming']['headers']): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  if (type === 'text/csv' && (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity') return
  throw new ApiError(415, 'unsupported_media_type', 'Send the contacts as Content-Type: text/csv, not compressed.')
}

async function* upTo(limit: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > limit) throw tooLarge(limit)
    yield piece
  }
}

const tooLarge = (limit: number): ApiError =>
  new ApiError(413, 'too_large', `The file is too large: at most ${counted(limit, 'byte')}.`)
