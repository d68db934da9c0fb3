// Contacts of an account, and contact lists (tags) by the older interface, whose answers have one of two shapes.
import { accountLimits, findAccount } from '../../../accounts/accounts.ts'
import type { Config } from '../../../kernel/config.ts'
import { cutText } from '../../../kernel/cut-text.ts'
import type { ContactCells } from '../../../people/contacts/contact-rows.ts'
import { findContact, type Member, newContactId, readMembers } from '../../../people/contacts/contacts.ts'
import { findContacts, MEMBER_CURSOR, SCAN_CURSOR } from '../../../people/contacts/find-contacts.ts'
import { importCsv } from '../../../people/contacts/import-csv.ts'
import { changeContact, makeContact, removeContact, showContact } from '../../../people/contacts/one-contact.ts'
import { countMembers, createTag, findTag, listTags, newTagId } from '../../../people/contacts/tags.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import { created, lists, says, shows } from '../answers.ts'
import { readCsv } from '../csv-upload.ts'
import { REFUSED_SHOWN } from '../fields.ts'
import { badCursor, byId, found, JSON_TYPE, makeOnceById, pageOfAll, streamed } from '../requests.ts'
import { type ContactRecord, contacts, type TaggedContact, tags } from './routes.ts'

interface ContactDeps {
  redis: Redis
  config: Pick<Config, 'limits'>
}

export function contactRoutes({ redis, config }: ContactDeps): Route[] {
  const mostOf = async (account: number): Promise<number> =>
    (await accountLimits(redis, account, config.limits)).contacts

  return bind(contacts)({
    async list({ caller: { account }, query: { tag, q: text, limit, cursor } }) {
      if (cursor !== undefined && !(tag === undefined ? SCAN_CURSOR : MEMBER_CURSOR).test(cursor)) throw badCursor()
      if (tag !== undefined) found(await findTag(redis, account, tag), 'The list')
      const page = await findContacts(redis, account, { tag, text, limit, cursor })
      return lists({ data: page.contacts, next: page.next })
    },

    async tags({ caller: { account }, query }) {
      const { data, next } = pageOfAll(await listTags(redis, account), byId, query)
      const counts = await countMembers(redis, account, data)
      return lists({ data: data.map((tag, i) => ({ ...tag, contacts: counts[i] ?? 0 })), next })
    },

    async import(call) {
      const report = collectContacts()
      const { account } = call.caller
      const { tag: wanted, ...options } = call.query
      const { tag, ...counts } = await readCsv(call, options, async (csv) =>
        importCsv(redis, { account, tag: wanted, csv, report, most: await mostOf(account) }),
      )
      call.audit({ target: `tag ${tag.id}`, detail: `${counts.imported} rows` })
      return shows('imported', { tag, ...counts, refused_rows: report.rows })
    },

    async create(call) {
      const { account } = call.caller
      const data = await makeOnceById(redis, call, 'contact', {
        newId: newContactId,
        make: async (id) => makeContact(redis, account, id, call.body, await mostOf(account)),
        find: (id) => findContact(redis, account, id),
      })
      return created(data)
    },

    async show({ caller, params }) {
      return shows('contact', await showContact(redis, caller.account, params.id))
    },

    async change({ caller, params, body, audit }) {
      const { name, email, ...rest } = body
      const fields = { ...rest, name: name === null ? '' : name, email: email === null ? '' : email }
      audit({ detail: Object.keys(body).join(',') })
      return shows('changed', await changeContact(redis, caller.account, params.id, fields))
    },

    async remove({ caller, params }) {
      await removeContact(redis, caller.account, params.id)
      return says('deleted')
    },
  })
}

/** Members read at a time: 3 ms in which Redis serves nobody else, and 150 KB of answer. */
const CHUNK = 1_000

export const tagRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(tags)({
    async fetch(call) {
      const { caller, body } = call
      const account = await findAccount(redis, caller.account)
      if (!account) throw new Error(`account ${caller.account} of a key does not exist`)
      const pieces = answerPieces(redis, caller.account, account.contacts_shape, [...new Set(body.tags)])
      return streamed(call, pieces, JSON_TYPE)
    },

    async createList(call) {
      const { account } = call.caller
      const { id, isNew } = await makeOnceById(redis, call, 'tag', {
        newId: newTagId,
        make: (fresh) => createTag(redis, account, call.body.name, fresh),
        find: async (fresh) => ((await findTag(redis, account, fresh)) ? { id: fresh, isNew: true } : undefined),
      })
      if (!isNew) {
        const message = `exists already, as tag ${id}`
        throw new ApiError(400, 'duplicate_name', `name: ${message}.`, {
          details: [{ path: 'name', message, tag_id: id }],
        })
      }
      return { body: { status: true, message: 'Contact list created', tagId: id } }
    },
  })

/** The two shapes of an answer, of which an account has one: the text around the list, and the object for each member. */
const shapes = {
  /** One record per contact and tag. */
  records: {
    head: '{"status":true,"msg":"Contacts fetched","data":[',
    tail: ']}',
    entry: (member: Member, tag: number, account: number): ContactRecord => ({
      id: member.id,
      user_id: account,
      contact_tag_id: member.membership,
      tag_id: tag,
      name: member.name,
      phone: member.phone,
      email: member.email,
    }),
  },
  /** One object per contact, under the first of the tags that it carries. */
  contacts: {
    head: '{"success":true,"data":[',
    tail: '],"message":"Contacts fetched"}',
    entry: (
      member: Member,
      _tag: number,
      _account: number,
      earlier: ReadonlySet<number>,
    ): TaggedContact | undefined => {
      // A contact that joins an earlier tag meanwhile can be missed; remembering all ids would cost 50 bytes each.
      if (member.tags.some((tag) => earlier.has(tag))) return undefined
      return { contact_id: member.id, name: member.name, phone: member.phone, email: member.email, tags: member.tags }
    },
  },
}

/** The JSON of the answer, piece by piece. The first piece already holds the first contacts. */
async function* answerPieces(redis: Redis, account: number, shape: keyof typeof shapes, tags: readonly number[]) {
  const { head, tail, entry } = shapes[shape]
  const earlier = new Set<number>()
  let before = head
  for (const tag of tags) {
    for (let after = 0, more = true; more; ) {
      const members = await readMembers(redis, account, tag, after, CHUNK)
      const entries = members.flatMap((member) => entry(member, tag, account, earlier) ?? [])
      if (entries.length > 0) {
        yield before + JSON.stringify(entries).slice(1, -1)
        before = ','
      }
      after = members.at(-1)?.membership ?? after
      more = members.length === CHUNK
    }
    earlier.add(tag)
  }
  yield (before === ',' ? '' : before) + tail
}

/** Longest beginning of a cell of a refused row that an answer has. */
const CELL_SHOWN = 300

/** Collects the refused rows that the answer names, with their cells. */
function collectContacts() {
  const rows: ({ line: number; reason: string } & ContactCells)[] = []
  return {
    rows,
    async add(line: number, reason: string, { name, phone, email }: ContactCells): Promise<void> {
      if (rows.length === REFUSED_SHOWN) return
      const [shownName, shownPhone, shownEmail] = [name, phone, email].map((cell) => cutText(cell, CELL_SHOWN))
      rows.push({ line, reason, name: shownName ?? '', phone: shownPhone ?? '', email: shownEmail ?? '' })
    },
  }
}
