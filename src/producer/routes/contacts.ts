// Contact lists: fetch the contacts of tags, in one of two shapes, and create a list.
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { z } from 'zod'
import { once } from '../../accept/once.ts'
import { findAccount } from '../../accounts/store/accounts.ts'
import { type Member, readMembers } from '../../contacts/store/contacts.ts'
import { createTag, findTag, newTagId } from '../../contacts/store/tags.ts'
import { bodyDigest } from '../../messages/store/idempotency.ts'
import type { Redis } from '../../redis/connect.ts'
import { ApiError } from '../errors.ts'
import { fieldsOf, idField, nameField } from '../fields.ts'
import { ignoredIn } from '../ignored.ts'
import type { Answer, Call, Route } from '../route.ts'

/** Most tags in one request. */
const TAGS_MAX = 100
/** Members read at a time: 3 ms in which Redis serves nobody else, and 150 KB of answer. */
const CHUNK = 1_000

const fetchSchema = z.object({ tags: z.array(idField) })
const createSchema = z.object({
  'X-Requested-With': z.string().refine((value) => value.toLowerCase() === 'xmlhttprequest', {
    error: 'expected "XMLHttpRequest"',
  }),
  name: nameField(100),
})

export function contactRoutes({ redis }: { redis: Redis }): Route[] {
  async function fetchContacts({ caller, body }: Call): Promise<Answer> {
    // Before anybody looks at the ids: a body has room for 60,000 of them.
    if (Array.isArray(body.tags) && (body.tags.length === 0 || body.tags.length > TAGS_MAX)) {
      const message = `expected 1 to ${TAGS_MAX} tags, got ${body.tags.length}`
      throw new ApiError(422, 'invalid_tags', `tags: ${message}.`, { details: [{ path: 'tags', message }] })
    }
    const { tags } = fieldsOf(fetchSchema, body)
    const account = await findAccount(redis, caller.account)
    if (!account) throw new Error(`account ${caller.account} of a key does not exist`)
    const pieces = answerPieces(redis, caller.account, account.contacts_shape, [...new Set(tags)])
    // Before the header is sent, so that a broken record or an unreachable Redis is still answered as what it is.
    const first = await pieces.next()
    const headers = ignoredIn(body, ['api_key', 'tags'])
    return { write: (response) => write(response.set(headers), first.done ? '' : first.value, pieces) }
  }

  async function createList({ caller, body, request }: Call): Promise<Answer> {
    const fields = { 'X-Requested-With': request.get('x-requested-with'), name: body.name }
    const { name } = fieldsOf(createSchema, fields)
    const { account } = caller
    const use = { account, route: 'tag', key: request.get('idempotency-key'), digest: () => bodyDigest(body) }
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
    const headers = ignoredIn(body, ['name'])
    return { headers, body: { status: true, message: 'Contact list created', tagId: id } }
  }

  return [
    {
      method: 'post',
      path: '/api/betav3/tagmanage/tag/fetchContactsTagWise',
      access: { in: 'api_key', permission: 'contacts:read', missing: 400 },
      body: { as: 'json' },
      handle: fetchContacts,
    },
    {
      method: 'post',
      path: '/partners/broadcast/addnewcontacttag',
      access: { in: 'bearer', permission: 'contacts:write' },
      body: { as: 'json' },
      handle: createList,
    },
  ]
}

/** How an account wants its contacts: what stands around the list, and what each member becomes. */
const shapes = {
  /** One record per contact and tag. */
  records: {
    head: '{"status":true,"msg":"Contacts fetched","data":[',
    tail: ']}',
    entry: (member: Member, tag: number, account: number) => ({
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
    entry: (member: Member, _tag: number, _account: number, earlier: ReadonlySet<number>) => {
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

/** Writes the pieces as fast as the client reads them. When one cannot be read, the connection is cut: the answer must not look whole. */
async function write(response: Response, first: string, rest: AsyncGenerator<string>): Promise<void> {
  response.status(200).type('json')
  async function* all() {
    yield first
    yield* rest
  }
  try {
    await pipeline(Readable.from(all()), response)
  } catch (error) {
    // Who hangs up in the middle needs no answer.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}
