// Erases a person of an account everywhere. Each part may be done any number of times: a process that takes over after a
// crash starts again and finds only what is left.
import { retainedLanes } from '../accounts/retained-lanes.ts'
import { filesSentBy } from '../gallery/received-media.ts'
import { removeFile } from '../gallery/remove-files.ts'
import { INTAKE_QUEUE, intakeRefusalSchema } from '../jobs/intake.ts'
import type { Log } from '../kernel/log.ts'
import { INTAKE_PREFIX, intakeJobKey, intakeKeys, JOB } from '../lanes/bullmq/layout.ts'
import { openQueue } from '../lanes/bullmq/open-queue.ts'
import { deleteContact } from '../people/contacts/contacts.ts'
import { forgetNames, namesOf } from '../people/names/names.ts'
import { makeErasedHmacs } from '../people/opt-outs/erased.ts'
import { eraseOptOut } from '../people/opt-outs/opt-outs.ts'
import { listPortfolios } from '../portfolios/portfolios.ts'
import { forgetCap } from '../portfolios/rules.ts'
import type { Redis } from '../redis/connect.ts'
import { jsonText, replaceField } from '../redis/records.ts'
import { eraseInCampaigns } from './erase-campaigns.ts'
import { type EraseDeps, eraseMessages } from './erase-messages.ts'
import { countErased } from './erasures.ts'

/** Whom to forget, and the id of the job that does it. */
export interface Forgotten {
  id: string
  account: number
  /** Any name of theirs. */
  person: string
  nowMs: number
}

/**
 * Forgets what can be forgotten now. True once nothing is left; false when a message is being sent or a campaign being
 * checked, which must be looked at again. The person must have been buried before (tombstones.ts), so that no campaign
 * comes to them behind this.
 */
export async function erasePerson(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<boolean> {
  const { redis } = deps
  const { account, person } = of
  const names = await namesOf(redis, account, person)
  let busy = 0
  for (const name of names) busy += await eraseName(deps, { ...of, person: name })
  // Never written to again means that: only who it was is forgotten.
  await eraseOptOut(redis, account, names)
  const lanes = await retainedLanes(redis, account)
  for (const lane of lanes) await forgetCap(redis, { lane }, names)
  for (const { id: portfolio } of await listPortfolios(redis, account)) await forgetCap(redis, { portfolio }, names)
  // Last, once nothing else of them is left to be looked for.
  if (busy === 0) await forgetNames(redis, account, names)
  return busy === 0
}

/** Forgets what is kept of one name, and returns how much must be looked at again. */
async function eraseName(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<number> {
  const { redis } = deps
  const { id, account, person } = of
  // First: a preflight that begins from now on does not find the person.
  if (await deleteContact(redis, account, { phone: person })) await countErased(redis, id, 'contacts', 1)
  const lanes = await retainedLanes(redis, account)
  const inFiles = await eraseInCampaigns(deps, new Set(lanes), person)
  await countErased(redis, id, 'recipients', inFiles.recipients)
  await countErased(redis, id, 'messages', inFiles.messages)
  let busy = inFiles.busy
  for (const lane of lanes) {
    const found = await eraseMessages(deps, { ...of, lane })
    await countErased(redis, id, 'messages', found.messages)
    await countErased(redis, id, 'received', found.received)
    busy += found.busy
  }
  await eraseFiles(redis, account, person)
  // Not counted: they may be of other accounts, and how many those have is nobody else's business.
  await eraseInRefusedJobs(redis, person)
  return busy
}

/**
 * Removes the files that came with their messages. After the messages: what is being fetched of one that is gone removes itself.
 */
async function eraseFiles(redis: Redis, account: number, person: string): Promise<void> {
  const [name = ''] = await makeErasedHmacs(redis, account, [person])
  for await (const files of filesSentBy(redis, account, name)) {
    for (const file of files) await removeFile(redis, account, file)
  }
}

// Forgetting a person in refused jobs of other services: those are kept for a week, so that the service can see why. A
// refused job cannot be assigned to an account, so every job that names the person is cleaned; its code stays.

/** Jobs that are looked at in one round trip; there are up to 10,000. */
const PAGE = 500

/** What may be forgotten of a job that stays, and what then stands there. */
const BLANK: Readonly<Record<string, (was: string) => string>> = {
  [JOB.data]: () => '{"erased":true}',
  [JOB.failedReason]: (was) => JSON.stringify({ code: codeOf(was), message: 'Erased.', details: [] }),
  [JOB.stacktrace]: () => '[]',
}

/** Forgets the person in refused jobs; a job that has the person in its id or name is removed as a whole. */
async function eraseInRefusedJobs(redis: Redis, person: string): Promise<void> {
  const queue = INTAKE_QUEUE
  const named = mentioning(person)
  const ids = await redis.zrange(intakeKeys(queue).refused, 0, '-1')
  let isChanged = false
  for (let at = 0; at < ids.length; at += PAGE) {
    const page = ids.slice(at, at + PAGE)
    const jobs = await Promise.all(page.map((id) => redis.hgetall(intakeJobKey(queue, id))))
    for (const [i, job] of jobs.entries()) {
      const id = page[i] ?? ''
      const found = Object.keys(job).filter((field) => named.test(job[field] ?? ''))
      if (named.test(id) || found.some((field) => !(field in BLANK))) await removeJob(redis, id)
      else if (found.length > 0) await blank(redis, intakeJobKey(queue, id), job)
      else continue
      isChanged = true
    }
  }
  if (isChanged) await redis.xtrim(intakeKeys(queue).events, 'MAXLEN', 0)
}

/** Only what still stands there: BullMQ may have trimmed the job meanwhile, and must not find half of one. */
async function blank(redis: Redis, key: string, job: Readonly<Record<string, string>>): Promise<void> {
  for (const [field, after] of Object.entries(BLANK)) {
    const before = job[field] ?? ''
    if (before === '') continue
    await replaceField(redis, key, field, { before, after: after(before) })
  }
}

async function removeJob(redis: Redis, id: string): Promise<void> {
  const queue = openQueue(redis, INTAKE_QUEUE, INTAKE_PREFIX, { toLook: true })
  try {
    await queue.remove(id)
  } finally {
    await queue.close()
  }
}

const codeOf = (reason: string): string =>
  jsonText.pipe(intakeRefusalSchema).safeParse(reason).data?.code ?? 'dead_letter'

const BETWEEN = String.raw`[\s().[\]\u2212\p{Cf}\p{Pd}-]{0,4}`

/** Finds the digits as people write numbers, or the id of somebody without one, but not inside of a longer one. */
function mentioning(person: string): RegExp {
  const digits = /^\d+$/.test(person) ? [...person].join(BETWEEN) : person.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return new RegExp(`(?<![0-9A-Za-z])${digits}(?![0-9A-Za-z])`, 'u')
}
