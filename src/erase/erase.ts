// Erases a person of an account everywhere. Each part is idempotent: a process that takes over after a crash starts again and finds only
// the rest.
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

/** The person to erase, and the id of the job. */
export interface Forgotten {
  id: string
  account: number
  /** Any name of theirs. */
  person: string
  nowMs: number
}

/**
 * Erases what can be erased now. True once nothing is left; false when a message is being sent or a campaign checked, which must be tried
 * again. The tombstone must exist before (tombstones.ts), so that no campaign reaches the person afterwards.
 */
export async function erasePerson(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<boolean> {
  const { redis } = deps
  const { account, person } = of
  const names = await namesOf(redis, account, person)
  let busy = 0
  for (const name of names) busy += await eraseName(deps, { ...of, person: name })
  // The opt-out stays in force: only the name is erased.
  await eraseOptOut(redis, account, names)
  const lanes = await retainedLanes(redis, account)
  for (const lane of lanes) await forgetCap(redis, { lane }, names)
  for (const { id: portfolio } of await listPortfolios(redis, account)) await forgetCap(redis, { portfolio }, names)
  // Last, once nothing else of the person is left to find.
  if (busy === 0) await forgetNames(redis, account, names)
  return busy === 0
}

/** Erases the data of one name, and returns how much must be tried again. */
async function eraseName(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<number> {
  const { redis } = deps
  const { id, account, person } = of
  // First, so that a preflight that begins from now on does not find the person.
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
  // Not counted: they may belong to other accounts, whose figures are private.
  await eraseInRefusedJobs(redis, person)
  return busy
}

/**
 * Removes the files that came with their messages. After the messages: a file that is being fetched for an erased message removes itself.
 */
async function eraseFiles(redis: Redis, account: number, person: string): Promise<void> {
  const [name = ''] = await makeErasedHmacs(redis, account, [person])
  for await (const files of filesSentBy(redis, account, name)) {
    for (const file of files) await removeFile(redis, account, file)
  }
}

// Erases a person from refused jobs of other services, which are kept for a week so that the service can see why. A refused job cannot be
// assigned to an account, so every job that names the person is cleaned; its code stays.

/** Jobs that are read in one round trip; there are up to 10,000. */
const PAGE = 500

/** The fields of a job that are erased, and their replacement. */
const BLANK: Readonly<Record<string, (was: string) => string>> = {
  [JOB.data]: () => '{"erased":true}',
  [JOB.failedReason]: (was) => JSON.stringify({ code: codeOf(was), message: 'Erased.', details: [] }),
  [JOB.stacktrace]: () => '[]',
}

/** Erases the person from refused jobs; a job with the person in its id or name is removed. */
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

/** Writes only existing fields: BullMQ may have trimmed the job meanwhile, and half a job must not appear. */
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
