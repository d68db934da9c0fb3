// Erases a person from refused jobs of other services, which are kept for a week so that the service can see why. A refused job cannot be
// assigned to an account, so every job that names the person is cleaned; its code stays.

import { INTAKE_QUEUE, intakeRefusalSchema } from '../jobs/intake.ts'
import { INTAKE_PREFIX, intakeJobKey, intakeKeys, JOB } from '../lanes/bullmq/layout.ts'
import { openQueue } from '../lanes/bullmq/open-queue.ts'
import type { Redis } from '../redis/connect.ts'
import { jsonText, replaceField } from '../redis/records.ts'

/** Jobs that are read in one round trip; there are up to 10,000. */
const PAGE = 500

/** The fields of a job that are erased, and their replacement. */
const BLANK: Readonly<Record<string, (was: string) => string>> = {
  [JOB.data]: () => '{"erased":true}',
  [JOB.failedReason]: (was) => JSON.stringify({ code: codeOf(was), message: 'Erased.', details: [] }),
  [JOB.stacktrace]: () => '[]',
}

/** Erases the person from refused jobs; a job with the person in its id or name is removed. */
export async function eraseInRefusedJobs(redis: Redis, person: string): Promise<void> {
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
