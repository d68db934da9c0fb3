// Forgetting a person in the jobs of other services that were refused: those are kept for a week, for whoever wants to know
// why, with all that the service wrote. Whose account a job was of is not known any more, or never was, so what mentions
// the person is forgotten whoever asks; that it was refused, and the code, stay for the service that wrote it.
import { FORMER_INTAKE_QUEUE, INTAKE_QUEUE, intakeRefusalSchema } from '../jobs/intake.ts'
import { INTAKE_PREFIX, intakeJobKey, intakeKeys, JOB } from '../queue/layout.ts'
import { openQueue } from '../queue/open-queue.ts'
import type { Redis } from '../redis/connect.ts'
import { jsonText } from '../redis/records.ts'
import { replaceField } from '../redis/replace-field.ts'

/** Jobs that are looked at in one round trip; there are up to 10,000. */
const PAGE = 500

/** What may be forgotten of a job that stays, and what then stands there. */
const BLANK: Readonly<Record<string, (was: string) => string>> = {
  [JOB.data]: () => '{"erased":true}',
  [JOB.failedReason]: (was) => JSON.stringify({ code: codeOf(was), message: 'Erased.', details: [] }),
  [JOB.stacktrace]: () => '[]',
}

/**
 * Forgets the person in refused jobs. A job that has the person in its id or name goes as a whole. Run
 * again it finds what is left.
 */
export async function eraseInRefusedJobs(redis: Redis, person: string): Promise<void> {
  for (const queue of [INTAKE_QUEUE, FORMER_INTAKE_QUEUE]) await eraseIn(redis, queue, mentioning(person))
}

async function eraseIn(redis: Redis, queue: string, named: RegExp): Promise<void> {
  const ids = await redis.zrange(intakeKeys(queue).refused, 0, '-1')
  let isChanged = false
  for (let at = 0; at < ids.length; at += PAGE) {
    const page = ids.slice(at, at + PAGE)
    const jobs = await Promise.all(page.map((id) => redis.hgetall(intakeJobKey(queue, id))))
    for (const [i, job] of jobs.entries()) {
      const id = page[i] ?? ''
      const found = Object.keys(job).filter((field) => named.test(job[field] ?? ''))
      if (named.test(id) || found.some((field) => !(field in BLANK))) await removeJob(redis, queue, id)
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

async function removeJob(redis: Redis, name: string, id: string): Promise<void> {
  const queue = openQueue(redis, name, INTAKE_PREFIX, { toLook: true })
  try {
    await queue.remove(id)
  } finally {
    await queue.close()
  }
}

const codeOf = (reason: string): string =>
  jsonText.pipe(intakeRefusalSchema).safeParse(reason).data?.code ?? 'dead_letter'

/** Finds the digits as people write numbers, or the id of somebody without one, but not inside of a longer one. */
function mentioning(person: string): RegExp {
  const digits = /^\d+$/.test(person) ? [...person].join('[\\s().-]{0,2}') : person.replaceAll('.', '\\.')
  return new RegExp(`(?<![0-9A-Za-z])${digits}(?![0-9A-Za-z])`)
}
