// Stopping and starting again on the same data folder: what survives, and what must not be left behind.
import { once } from 'node:events'
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { becomes, sendImage, statusOf } from '../support/calls.ts'
import { type Demo, demoFile, launchLaneway, readyDemo, startLaneway, testInFolder } from '../support/laneway.ts'
import { nothingLeft, processesNaming, takePort } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

// Processes start in seconds, and on a busy machine in many.
/** Numbers of the simulator's table. */
const ANSWERS_AFTER_2_S = '+15550100301'
const NEVER_ANSWERS = '+15550100302'

/** What must be the same after a restart: everything but the address, which PORT=0 makes new. */
const lasting = ({ base_url: _, ...rest }: Demo) => rest

/** Resolves as soon as the folder has an entry of this name. */
async function appears(folder: string, name: string): Promise<void> {
  const watcher = watch(folder)
  try {
    while (!existsSync(join(folder, name))) await once(watcher, 'change')
  } finally {
    watcher.close()
  }
}

testInFolder(
  'a start after a kill -9 or a stop finds the same data under the same keys and ports, and does what was left undone',
  async ({ dataDir }) => {
    const stop = async ({ process }: Awaited<ReturnType<typeof startLaneway>>) => {
      process.kill('SIGTERM')
      expect(await process.ended).toEqual({ code: 0, signal: null })
      await nothingLeft(dataDir)
    }
    const first = await startLaneway(dataDir)
    const messages = await Promise.all(Array.from({ length: 20 }, () => sendImage(first.demo)))
    const leftOver = Number(readFileSync(join(dataDir, 'redis/redis.pid'), 'utf8'))
    first.process.kill('SIGKILL')
    await first.process.ended
    expect(processesNaming(dataDir)).toContain(leftOver)

    const second = await startLaneway(dataDir)
    expect(processesNaming(dataDir)).not.toContain(leftOver)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    for (const message of messages) expect(await statusOf(second.demo, message)).toMatch(/^[a-z]+$/)
    const message = await sendImage(second.demo)
    await becomes(second.demo, message, 'delivered')
    await stop(second)

    // The simulator has to take another port, and the demo senders follow.
    const other = await takePort()
    const portsFile = join(dataDir, 'ports.json')
    writeFileSync(portsFile, JSON.stringify({ simulator: other.port }))
    const third = await startLaneway(dataDir)
    await other.release()
    const { simulator_url, ...rest } = lasting(third.demo)
    expect({ ...rest, simulator_url: second.demo.simulator_url }).toEqual(lasting(second.demo))
    expect(new URL(simulator_url).port).not.toBe(String(other.port))
    expect(await statusOf(third.demo, message)).toBe('delivered')
    await becomes(third.demo, await sendImage(third.demo), 'delivered')
    await stop(third)

    // The seeding before was cut off.
    writeFileSync(join(dataDir, 'demo-keys.private.json'), '{"state":"seeding"}')
    const fourth = await startLaneway(dataDir)
    expect(fourth.demo.account_id).toBeGreaterThan(first.demo.other_account.account_id)
    await becomes(fourth.demo, await sendImage(fourth.demo), 'delivered')
  },
)

describe('a start after a kill -9', () => {
  testInFolder('works however often and wherever the first start was killed', async ({ dataDir }) => {
    // Marks of progress in the data folder, in the order in which a first start makes them. Each start finds what the
    // one before left behind, and comes a step further.
    for (const mark of ['laneway.pid', 'redis', 'simulator.log', 'demo-keys.private.json', 'gallery']) {
      // The kill before came late.
      if (existsSync(join(dataDir, mark))) continue
      const killed = launchLaneway(dataDir)
      await appears(dataDir, mark)
      killed.kill('SIGKILL')
      await killed.ended
    }
    const { demo } = await startLaneway(dataDir)
    await becomes(demo, await sendImage(demo), 'delivered')
  })
})

describe.concurrent('npm', () => {
  const npmStart = ['npm', 'start'] as const

  testInFolder(
    'killed with -9 takes the service with it, the next start needs no waiting by hand, and a stop is waited for',
    async ({ dataDir }) => {
      const first = await startLaneway(dataDir, {}, npmStart)
      first.process.kill('SIGKILL')
      const second = await startLaneway(dataDir, {}, npmStart)
      expect(lasting(second.demo)).toEqual(lasting(first.demo))
      second.process.kill('SIGTERM')
      expect(await second.process.ended).toEqual({ code: 0, signal: null })
      expect(processesNaming(dataDir)).toEqual([])
    },
  )

  testInFolder('in a terminal that is closed takes the service with it', async ({ dataDir }) => {
    const terminal = ['script', '--quiet', '--command', 'npm start', '/dev/null'] as const
    const { process: script } = await startLaneway(dataDir, {}, terminal)
    script.kill('SIGKILL')
    await nothingLeft(dataDir)
    expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)
    expect(existsSync(join(dataDir, 'redis', 'redis.pid'))).toBe(false)
  })
})

describe.concurrent('a stop', () => {
  testInFolder(
    'by Ctrl-C finishes what is in flight, a second one ends at once, and neither leaves a process or loses anything',
    async ({ dataDir }) => {
      const first = await startLaneway(dataDir)
      const slow = await sendImage(first.demo, ANSWERS_AFTER_2_S)
      await becomes(first.demo, slow, 'sending')
      first.process.kill('SIGINT')
      expect(await first.process.ended).toEqual({ code: 0, signal: null })
      expect(processesNaming(dataDir)).toEqual([])
      expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)

      const second = await startLaneway(dataDir)
      expect(await statusOf(second.demo, slow)).toMatch(/^(sent|delivered)$/)
      const hanging = await sendImage(second.demo, NEVER_ANSWERS)
      await becomes(second.demo, hanging, 'sending')
      // One Ctrl-C arrives twice, from the terminal and from npm; signals close together count as one, later ones do not.
      const presses = setInterval(() => second.process.kill('SIGINT'), 50)
      const ended = await second.process.ended
      clearInterval(presses)
      expect(ended).toEqual({ code: 130, signal: null })
      await nothingLeft(dataDir)

      const third = await startLaneway(dataDir)
      expect(await statusOf(third.demo, hanging)).not.toBe('queued')
      // In order within its 20 s although WhatsApp never answers.
      await becomes(third.demo, await sendImage(third.demo, NEVER_ANSWERS), 'sending')
      third.process.kill('SIGTERM')
      expect(await third.process.ended).toEqual({ code: 0, signal: null })
      expect(processesNaming(dataDir)).toEqual([])
    },
  )

  testInFolder('in the middle of a start leaves no process and no half of a start', async ({ dataDir }) => {
    const started = launchLaneway(dataDir)
    await eventually(async () => existsSync(join(dataDir, 'redis', 'redis.pid')), 'its Redis', 150_000)
    started.kill('SIGINT')
    expect(await started.ended).toEqual({ code: 0, signal: null })
    await nothingLeft(dataDir)
    expect(existsSync(demoFile(dataDir))).toBe(false)

    const again = launchLaneway(dataDir)
    await readyDemo(dataDir, again)
  })
})
