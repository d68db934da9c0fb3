// Contact lists: fetching the contacts of tags, in one of two shapes, and creating a list.
import { Readable } from 'node:stream'
import { findAccount } from '../../../accounts/store/accounts.ts'
import { type Member, readMembers } from '../../../contacts/store/contacts.ts'
import { createTag, findTag, newTagId } from '../../../contacts/store/tags.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import { type ContactJson, type ContactRecord, contacts } from './tag-routes.ts'

/** Members read at a time: 3 ms in which Redis serves nobody else, and 150 KB of answer. */
const CHUNK = 1_000

/** The routes of routes/contacts.ts. */
export const contactRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(contacts)({
    async fetch({ caller, body: { tags }, inPieces }) {
      const account = await findAccount(redis, caller.account)
      if (!account) throw new Error(`account ${caller.account} of a key does not exist`)
      const pieces = inPieces(answerPieces(redis, caller.account, account.contacts_shape, [...new Set(tags)]))
      // Before the header is sent, so that a broken record or an unreachable Redis is still answered as what it is.
      const first = await pieces.next()
      async function* all() {
        if (!first.done) yield first.value
        yield* pieces
      }
      return { headers: { 'Content-Type': 'application/json; charset=utf-8' }, stream: Readable.from(all()) }
    },

    async createList({ caller, body: { name }, sent, headers }) {
      const { account } = caller
      const use = { account, route: 'tag', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const { id, isNew } = await once(redis, use, {
        prepare: async () => ({ name: String(await newTagId(redis)), work: undefined }),
        make: (fresh) => createTag(redis, account, name, Number(fresh)),
        find: async (fresh) =>
          (await findTag(redis, account, Number(fresh))) ? { id: Number(fresh), isNew: true } : undefined,
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

/** How an account wants its contacts: what stands around the list, and what each member becomes. */
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
    entry: (member: Member, _tag: number, _account: number, earlier: ReadonlySet<number>): ContactJson | undefined => {
      // Whoever joins an earlier tag while this is being read can be missed; remembering all ids would cost 50 bytes each.
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
