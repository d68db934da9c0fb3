// Processes the jobs that other services write into the queue `{laneway-intake}`: checks their form, key and permission, then executes them
// with the same rules and refusals as over HTTP.
//
// An ended job keeps no key: before BullMQ ends it, its data is replaced by data without the key but with its end.
// - if the worker dies before that, another runs the job again; accepting is idempotent by the job's own id;
// - if it dies between that and the end, the second run finds the stored end and repeats it.

import { checkKey, unauthorized } from '../../accounts/check-key.ts'
import { openCampaignQueue } from '../../campaigns/store/queue.ts'
import {
  contractOf,
  endedIntakeSchema,
  HIDDEN_KEY,
  hideKeys,
  hideKeysInText,
  INTAKE_QUEUE,
  INTAKE_VERSION,
  type IntakeEnd,
  intakeJobSchema,
} from '../../jobs/intake.ts'
import { isTooDeep, JSON_LIMIT_BYTES, MAX_DEPTH } from '../../kernel/body-limits.ts'
import type { Config } from '../../kernel/config.ts'
import { cutText } from '../../kernel/cut-text.ts'
import { notOneOf } from '../../kernel/fault.ts'
import { takesMoreThan } from '../../kernel/json-size.ts'
import type { Log } from '../../kernel/log.ts'
import { withoutNumbers } from '../../kernel/masked.ts'
import { invalidFields, LIMIT_OF_CODE, Refusal } from '../../kernel/refusal.ts'
import { INTAKE_PREFIX } from '../../lanes/bullmq/layout.ts'
import { repairActive, repairJob, repairStalled } from '../../lanes/bullmq/repair.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker } from '../../lanes/bullmq/worker.ts'
import type { AcceptDeps } from '../../messages/accept/accept-message.ts'
import { isOperator } from '../../model/accounts/permissions.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { observerOf } from '../../redis/observe.ts'
import { intakeVerbs, PERSON_ERASED, type VerbDeps } from './verbs.ts'

/**
 * Jobs in flight at the same time. 25, 50, 100 and 200 measured alike, 10 at half the rate: a job spends most of its
 * time waiting for Redis.
 */
const CONCURRENCY = 50
/**
 * Accepting takes milliseconds. A job whose worker died is taken up again after 5 to 7 s; measured with the start
 * of the next worker 6.7 to 8.5 s.
 */
const LOCK_MS = 5_000
const STALLED_CHECK_MS = 2_000
/** A job that was in flight at the death of this many workers is refused. */
const MAX_CRASHES = 5
/** Answers are kept for an hour, or until so many newer ones came. About 400 bytes each. */
const KEPT_ANSWERS = { age: 3_600, count: 20_000, limit: 500 }
const KEPT_REFUSALS = { age: 7 * 86_400, count: 10_000, limit: 500 }
/** Retry delay while Redis refuses: full, loading, failing over. */
const TROUBLE_WAIT_MS = 1_000
/** Errors that come together are examined once. */
const REPAIR_WAIT_MS = 500

interface IntakeDeps extends VerbDeps {
  log: Log
}

/** Starts processing intake jobs, on a connection that waits for Redis. */
export async function startIntake(
  given: AcceptDeps & { config: Pick<Config, 'retentionMs'> & ListSettings; log: Log; tombstones: Tombstones },
) {
  const { redis, config, log } = given
  const campaigns = openCampaignQueue(redis)
  const deps: IntakeDeps = {
    ...given,
    lifecycle: { redis, queue: campaigns, retentionMs: config.retentionMs, limits: config.limits },
  }
  let repairing: NodeJS.Timeout | undefined
  const worker = openWorker(
    redis,
    { name: INTAKE_QUEUE, prefix: INTAKE_PREFIX },
    async (job, token) => endOwn(await takeIn(deps, job), job, token),
    {
      concurrency: CONCURRENCY,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      // Never reached: BullMQ would keep the job as a dead letter, with its key in it. `takeIn` counts the crashes itself.
      maxStalledCount: 1_000_000,
      removeOnComplete: KEPT_ANSWERS,
      removeOnFail: KEPT_REFUSALS,
      beforeStalledCheck: () => repairStalled(deps, INTAKE_QUEUE),
    },
    (error) => {
      log.debug({ err: error }, 'intake.error')
      repairSoon()
    },
  )

  /** An error may come from a job that BullMQ cannot read; it does not name the job. */
  function repairSoon(): void {
    if (redis.status !== 'ready' || repairing !== undefined) return
    repairing = setTimeout(() => {
      repairActive(deps, INTAKE_QUEUE)
        .catch((error: unknown) => log.warn({ err: error }, 'intake.repair_failed'))
        .finally(() => {
          repairing = undefined
        })
    }, REPAIR_WAIT_MS)
  }

  await worker.waitUntilReady()
  return {
    /** Takes no more jobs and finishes those in flight, at most for `limitMs`; other workers take the rest. */
    async stop(limitMs: number): Promise<void> {
      clearTimeout(repairing)
      await closeWorker(worker, limitMs)
      await campaigns.close()
    },
  }
}

async function takeIn(deps: IntakeDeps, job: Job): Promise<OwnEnd> {
  try {
    // With an invalid parent BullMQ takes the job out of its list and then fails to end it: the job is lost.
    if (job.parent !== undefined || job.parentKey !== undefined) await repairJob(deps, job.queueName, job.id ?? '')
    const ended = endedIntakeSchema.safeParse(job.data)
    const end = ended.success ? ended.data.end : await endOf(deps, job)
    if (!ended.success) await job.updateData({ ...remains(job.data, end), api_key: HIDDEN_KEY, end })
    observerOf(deps.redis).tookIn('answer' in end ? 'done' : 'refused')
    if ('answer' in end) return { kind: 'done', answer: end.answer }
    const limit = LIMIT_OF_CODE.get(end.refusal.code)
    if (limit !== undefined) observerOf(deps.redis).refusedBy(limit)
    deps.log.info({ job: shownId(job), code: end.refusal.code }, 'intake.refused')
    return { kind: 'dead_letter', reason: JSON.stringify(end.refusal) }
  } catch (error) {
    if (!isRedisAway(error)) throw error
    return { kind: 'waits', ms: TROUBLE_WAIT_MS }
  }
}

/** An id as the log shows it. */
const ID_SHOWN = 64

/** Another service chose the id, which may contain a number or a key. */
const shownId = ({ id = '' }: Job): string => withoutNumbers(hideKeysInText(cutText(id, ID_SHOWN)))

/** Executes the job. Rejects only while Redis is away. */
async function endOf(deps: IntakeDeps, job: Job): Promise<IntakeEnd> {
  try {
    return { answer: await answerTo(deps, job) }
  } catch (error) {
    if (isRedisAway(error)) throw error
    if (!(error instanceof Refusal)) deps.log.error({ job: shownId(job), err: error }, 'intake.failed')
    const { code, message, faults } = error instanceof Refusal ? error : ownFault
    const details = faults.map((fault) => ({
      path: hideKeysInText(fault.path),
      message: hideKeysInText(fault.message),
    }))
    return { refusal: { code, message: hideKeysInText(message), details } }
  }
}

const ownFault = new Refusal('invalid', 'internal', 'Something went wrong on our side; see the log of the worker.')

async function answerTo(deps: IntakeDeps, job: Job) {
  if (job.stalledCounter > MAX_CRASHES) {
    throw new Refusal('invalid', 'poison', `Workers died ${job.stalledCounter} times while processing this job.`)
  }
  const data = readable(job.data)
  const contract = contractOf(data)
  if (!contract.ok) throw invalidFields([contract.fault], 'unknown_version')
  const name = intakeJobSchema.safeParse(job.name)
  if (!name.success) {
    throw invalidFields([{ path: 'name', message: notOneOf(intakeJobSchema.options, job.name) }], 'unknown_job')
  }
  const secret = 'api_key' in data ? data.api_key : undefined
  if (typeof secret !== 'string' || secret === '') throw unauthorized('Send your key in the field api_key of the job.')
  const verb = intakeVerbs[name.data]
  const key = await checkKey(deps.redis, secret, verb.permission, Date.now())
  if (isOperator(key)) throw new Refusal('forbidden', 'forbidden', 'A key of no account cannot be used in a job.')
  if (key.senders.length > 0) {
    throw new Refusal('forbidden', 'forbidden', 'A key that is for some senders only cannot be used in a job.')
  }
  const { account } = key
  const checked = { id: job.id ?? '', addedAtMs: job.timestamp, account, data, contract: contract.contract }
  return verb.run(deps, checked)
}

/** The data, when it is an object of a size and depth that the HTTP interface would take too. */
function readable(data: unknown): object {
  if (isTooDeep(data)) throw new Refusal('invalid', 'too_deep', `The data is nested deeper than ${MAX_DEPTH} levels.`)
  if (isTooLarge(data)) throw new Refusal('invalid', 'too_large', `The data is larger than ${JSON_LIMIT_BYTES} bytes.`)
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new Refusal('invalid', 'invalid_data', 'The data must be a JSON object.')
  }
  return data
}

const isTooLarge = (data: unknown): boolean => takesMoreThan(data, JSON_LIMIT_BYTES)

/** The data that a job keeps: all but the keys when it was refused, for inspection; nothing when it was done. */
function remains(data: unknown, end: IntakeEnd): object {
  if ('answer' in end) return { v: INTAKE_VERSION }
  // Its person was erased, and must not stay here for another week.
  if (end.refusal.code === PERSON_ERASED) return { erased: true }
  if (isTooDeep(data) || isTooLarge(data)) return {}
  const kept = hideKeys(data)
  return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? kept : { data: kept }
}
