// Lists of contacts, a page at a time, in bounded time however many there are: each page looks through so many contacts
// at most and then returns where the next one continues.
//
// Without a tag there is no order but that of the hash from phone numbers to contacts, which HSCAN walks. A page may end
// in the middle of what one HSCAN gave, so its cursor is where that one began and the last id of it that was passed: it
// is examined through in the order of ids, and holds the same ones when it is read again. A contact that is there all the
// time is shown; one that comes or goes meanwhile may be, and while the hash grows one may be shown twice.
import { plainSpelling } from '../../kernel/recipient.ts'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { readHashes } from '../../redis/records.ts'
import { type Contact, contactOf, readMembers } from './contacts.ts'

/** Contacts that one page examines: some 20 ms of Redis, in pieces. */
const MOST_EXAMINED = 5_000
const BATCH = 500

/** What a cursor looks like, without a tag and with one. */
export const SCAN_CURSOR = /^s(\d{1,20})\.(\d{1,16})$/
export const MEMBER_CURSOR = /^m(\d{1,16})$/

/** Which contacts a page is of. */
export interface ContactsWanted {
  /** Only those that carry it. */
  tag: number | undefined
  /** Only those whose name or email has it, in any case, or whose number has its digits. */
  text: string | undefined
  limit: number
  /** Of the kind that the tag asks for. */
  cursor: string | undefined
}

interface Page {
  contacts: Contact[]
  /** Null on the last page; a page may be short, or empty, and still not be the last. */
  next: string | null
}

/** A page of the account's contacts: in the order they joined the tag, where one is given. Throws a CorruptRecordError. */
export const findContacts = (redis: Redis, account: number, wanted: ContactsWanted): Promise<Page> =>
  wanted.tag === undefined ? scan(redis, account, wanted) : membersOf(redis, account, wanted.tag, wanted)

async function scan(redis: Redis, account: number, { text, limit, cursor }: ContactsWanted): Promise<Page> {
  const keys = contactKeys(account)
  const matches = matcher(text)
  const [, began = '0', lastPassed = '0'] = SCAN_CURSOR.exec(cursor ?? '') ?? []
  const contacts: Contact[] = []
  let at = began
  /** Of what the HSCAN at `at` gives. */
  let passed = Number(lastPassed)
  for (let examined = 0; examined < MOST_EXAMINED; ) {
    const [next, flat] = await redis.hscan(keys.phones, at, 'COUNT', BATCH)
    const ids = flat
      .filter((_, i) => i % 2 === 1)
      .map(Number)
      .filter((id) => id > passed)
      .sort((a, b) => a - b)
    // A hash of a few hundred is returned whole, whatever the count.
    for (let from = 0; from < ids.length; from += BATCH) {
      const batch = ids.slice(from, from + BATCH)
      const hashes = await readHashes(redis, batch.map(keys.contact))
      for (const [i, id] of batch.entries()) {
        const contact = contactOf(id, hashes[i])
        if (contact !== undefined && matches(contact)) {
          if (contacts.length === limit) return { contacts, next: `s${at}.${passed}` }
          contacts.push(contact)
        }
        passed = id
      }
    }
    examined += BATCH
    if (next === '0') return { contacts, next: null }
    at = next
    passed = 0
  }
  return { contacts, next: `s${at}.0` }
}

async function membersOf(
  redis: Redis,
  account: number,
  tag: number,
  { text, limit, cursor }: ContactsWanted,
): Promise<Page> {
  const matches = matcher(text)
  let after = Number(MEMBER_CURSOR.exec(cursor ?? '')?.[1] ?? 0)
  const contacts: Contact[] = []
  for (let examined = 0; examined < MOST_EXAMINED; examined += BATCH) {
    const members = await readMembers(redis, account, tag, after, BATCH)
    for (const { membership, ...contact } of members) {
      if (contacts.length === limit) return { contacts, next: `m${after}` }
      if (matches(contact)) contacts.push(contact)
      after = membership
    }
    if (members.length < BATCH) return { contacts, next: null }
  }
  return { contacts, next: `m${after}` }
}

function matcher(text: string | undefined): (contact: Contact) => boolean {
  if (text === undefined) return () => true
  const lower = text.toLowerCase()
  const digits = /^[+\d\s().-]+$/.test(plainSpelling(text)) ? text.replace(/\D/g, '') : ''
  return ({ name, email, phone }) =>
    (digits !== '' && phone.includes(digits)) ||
    (name?.toLowerCase().includes(lower) ?? false) ||
    (email?.toLowerCase().includes(lower) ?? false)
}
