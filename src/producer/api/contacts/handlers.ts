// Contacts of an account: looked for, created, imported, changed and deleted.

import { accountLimits } from '../../../accounts/store/accounts.ts'
import type { Config } from '../../../config.ts'
import { importCsv } from '../../../contacts/commands/import-csv.ts'
import { changeContact, makeContact, removeContact, showContact } from '../../../contacts/commands/one-contact.ts'
import { findContacts, MEMBER_CURSOR, SCAN_CURSOR } from '../../../contacts/store/find-contacts.ts'
import { findContact, newContactId } from '../../../contacts/store/one-contact.ts'
import { countMembers, findTag, listTags } from '../../../contacts/store/tags.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { invalid, notFound } from '../../errors.ts'
import type { CallOf } from '../../route.ts'
import { collectRefused, readCsv } from '../csv-upload.ts'
import { byId, pageOfAll } from '../pages.ts'
import { contactBook } from './routes.ts'

interface BookDeps {
  redis: Redis
  config: Pick<Config, 'limits'>
}

const mostOf = async ({ redis, config }: BookDeps, account: number): Promise<number> =>
  (await accountLimits(redis, account, config.limits)).contacts

/** The routes of routes/contact-book.ts. */
export const contactBookRoutes = ({ redis, config }: BookDeps): Route[] =>
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
      const { data, next } = pageOfAll(await listTags(redis, account), byId, query)
      const counts = await countMembers(redis, account, data)
      return { body: { status: true, data: data.map((tag, i) => ({ ...tag, contacts: counts[i] ?? 0 })), next } }
    },

    import: (call) => importRows({ redis, config }, call),

    async create({ caller: { account }, body, sent, headers }) {
      const use = { account, route: 'contact', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const data = await once(redis, use, {
        prepare: async () => ({ name: String(await newContactId(redis)), work: undefined }),
        make: async (id) => makeContact(redis, account, Number(id), body, await mostOf({ redis, config }, account)),
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

async function importRows(deps: BookDeps, call: CallOf<typeof contactBook.import>) {
  const report = collectRefused()
  const { account } = call.caller
  const { tag: wanted, ...said } = call.query
  const { tag, ...counts } = await readCsv(call, said, async (csv) =>
    importCsv(deps.redis, { account, tag: wanted, csv, report, most: await mostOf(deps, account) }),
  )
  call.note({ target: `tag ${tag.id}`, detail: `${counts.imported} rows` })
  const data = { tag, ...counts, refused_rows: report.rows }
  return { body: { status: true as const, message: 'imported', data } }
}
