// Pins: what is written into the intake queue is taken in once, whatever dies meanwhile: workers, Redis, or the one job
// that kills every worker. Real: Redis, a worker process from dist/, BullMQ with its defaults. Nothing is sent: the
// lane is paused, so that its jobs are the messages.
import { expect, test } from 'vitest'
import { endedIntakeSchema, INTAKE_QUEUE, intakeAnswers, intakeRefusalSchema } from '../../src/jobs/intake.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { startService } from '../support/service.ts'
import { waitingOn } from '../support/state/lanes.ts'
import { intakeJobRecord, intakeQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

/**
 * Jobs of a dead worker wait for their locks to run out and for a look at stalled ones, half a minute each. A busy machine is
 * slow besides, and this is no promise of speed.
 */
const LIMIT_MS = 300_000

/** So many that the worker is still at it when it is killed. */
const JOBS = 1_500
/** And so many more that the next one is when its Redis is killed. */
const MORE_JOBS = 1_000

/** A service without a worker, its intake queue as another service opens it, and workers to start and to kill. */
async function startRig() {
  const service = await startService({ worker: false })
  const { redis, server } = service
  const tenant = await service.addTenant()
  const lanes = openLaneQueues(redis)
  await lanes.pause(tenant.partnerLane)
  await lanes.close()
  const queue = intakeQueue(server.url, INTAKE_QUEUE)
  const workers: TestProcess[] = []

  const data = (n: number) => ({
    v: 1,
    api_key: tenant.apiKey,
    message: {
      messaging_product: 'chatapp',
      recipient_type: 'individual',
      to: `+4917${10_000_000 + n}`,
      type: 'image',
      image: { link: 'https://example.com/a.jpg' },
    },
  })
  const done = () => queue.getCompletedCount()
  const messages = async () => (await waitingOn(redis, tenant.partnerLane)).length

  return {
    server,
    redis,
    queue,
    tenant,
    data,
    addJobs: (count: number) =>
      queue.addBulk(Array.from({ length: count }, (_none, n) => ({ name: 'send', data: data(n) }))),

    startWorker(): TestProcess {
      const worker = startProcess(process.execPath, ['dist/start/worker.js'], {
        REDIS_URL: server.url,
        LANEWAY_DATA_DIR: service.config.dataDir,
        LANEWAY_LOG_LEVEL: 'error',
      })
      workers.push(worker)
      return worker
    },

    record: (id?: string) => intakeJobRecord(redis, INTAKE_QUEUE, id ?? ''),

    done,

    isBusy: () => eventually(async () => (await done()) > 100, 'the worker is at it', LIMIT_MS),

    messages,

    /** Jobs that hold their end, finished or not. */
    async notedJobs(): Promise<number> {
      const active = await queue.getActive()
      return (await done()) + active.filter((job) => endedIntakeSchema.safeParse(job.data).success).length
    },

    /** Every job is done, each with a message of its own, and there are no other messages. */
    async everyOneOnce(count: number): Promise<void> {
      await eventually(async () => (await done()) === count, `${count} jobs are done`, LIMIT_MS)
      const jobs = await queue.getCompleted(0, count)
      const ids = jobs.map(({ returnvalue }) => intakeAnswers.send.parse(returnvalue).message_id)
      expect(new Set(ids).size).toBe(count)
      expect(await messages()).toBe(count)
    },

    async close(): Promise<void> {
      for (const worker of workers) {
        worker.kill('SIGKILL')
        await worker.ended
      }
      await queue.close()
      await service.close()
    },
  }
}

/** The tests mostly wait for locks of the dead to run out, so they run side by side, each on a Redis of its own. */
function testOnRig(title: string, act: (rig: Awaited<ReturnType<typeof startRig>>) => Promise<void>): void {
  test.concurrent(title, async () => {
    const rig = await startRig()
    try {
      await act(rig)
    } finally {
      await rig.close()
    }
  })
}

testOnRig(
  'neither a worker killed between accepting and recording it nor a killed Redis loses a job or doubles a message',
  async (rig) => {
    await rig.addJobs(JOBS)
    const killed = rig.startWorker()
    await rig.isBusy()
    // Frozen again and again, until it is between the two with some of its jobs. It gets more of them when it has done
    // all before it was frozen there.
    let jobs = JOBS
    await eventually(
      async () => {
        if ((await rig.done()) === jobs) {
          await rig.addJobs(JOBS)
          jobs += JOBS
        }
        killed.kill('SIGSTOP')
        if ((await rig.messages()) > (await rig.notedJobs())) return true
        killed.kill('SIGCONT')
        return false
      },
      'a message is accepted and its job does not know',
      LIMIT_MS,
    )
    killed.kill('SIGKILL')
    await killed.ended

    const doneByThen = await rig.done()
    await rig.addJobs(MORE_JOBS)
    rig.startWorker()
    await eventually(async () => (await rig.done()) > doneByThen, 'another worker is at it', LIMIT_MS)
    await rig.server.kill9()
    await rig.server.restart()
    await rig.everyOneOnce(jobs + MORE_JOBS)
  },
)

testOnRig('a job that was in hand at every death of a worker is refused, and one that is not JSON too', async (rig) => {
  const poison = await rig.queue.add('send', rig.data(1))
  await rig.record(poison.id).change({ stc: 6 })
  const garbage = await rig.queue.add('send', {})
  await rig.record(garbage.id).change({ data: '{"api_key": ' })
  const good = await rig.queue.add('send', rig.data(2))
  rig.startWorker()

  const codeOf = async (id = '') => {
    const reason = await rig.record(id).field('failedReason')
    return reason === null ? undefined : intakeRefusalSchema.parse(JSON.parse(reason)).code
  }
  await eventually(async () => (await good.getState()) === 'completed', 'the good one is done', LIMIT_MS)
  expect(await eventually(() => codeOf(poison.id), 'the poison is refused', LIMIT_MS)).toBe('poison')
  expect(JSON.stringify(await rig.queue.getJob(poison.id ?? ''))).not.toContain(rig.tenant.apiKey)
  // BullMQ cannot fetch it: the lock of the try must run out and a stalled check come by, twice at most.
  expect(await eventually(() => codeOf(garbage.id), 'the garbage is refused', LIMIT_MS)).toBe('invalid_data')
})
