// Stopping and starting again on the same data folder: what survives, and what must not be left behind.
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { becomes, sendImage, statusOf } from '../support/calls.ts'
import { type Demo, demoFile, launchLaneway, startLaneway, testInFolder } from '../support/laneway.ts'
import { nothingLeft, processesNaming, takePort } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

/** Numbers of the simulator's table. */
const ANSWERS_AFTER_2_S = '+15550100301'
const NEVER_ANSWERS = '+15550100302'

const NPM_START = ['npm', 'start'] as const

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

// Each start costs seconds, so one test goes through all the ways in which a service ends, and looks after each of them at
// what the next start finds.
testInFolder(
  'a start finds the same data under the same keys and ports however the one before ended, and does what was left undone',
  async ({ dataDir }) => {
    const nothingIsLeft = () => {
      expect(processesNaming(dataDir)).toEqual([])
      expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)
    }

    const first = await startLaneway(dataDir)
    const messages = await Promise.all(Array.from({ length: 20 }, () => sendImage(first.demo)))
    const leftOver = Number(readFileSync(join(dataDir, 'redis/redis.pid'), 'utf8'))
    first.process.kill('SIGKILL')
    await first.process.ended
    expect(processesNaming(dataDir)).toContain(leftOver)

    const second = await startLaneway(dataDir, {}, NPM_START)
    expect(processesNaming(dataDir)).not.toContain(leftOver)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    for (const message of messages) expect(await statusOf(second.demo, message)).toMatch(/^[a-z]+$/)
    const message = await sendImage(second.demo)
    await becomes(second.demo, message, 'delivered')
    // npm waits for the stop, and that finishes what is in flight.
    const slow = await sendImage(second.demo, ANSWERS_AFTER_2_S)
    await becomes(second.demo, slow, 'sending')
    second.process.kill('SIGTERM')
    expect(await second.process.ended).toEqual({ code: 0, signal: null })
    nothingIsLeft()

    // The simulator has to take another port, and the demo senders follow.
    const other = await takePort()
    writeFileSync(join(dataDir, 'ports.json'), JSON.stringify({ simulator: other.port }))
    const third = await startLaneway(dataDir)
    await other.release()
    const { simulator_url, ...rest } = lasting(third.demo)
    expect({ ...rest, simulator_url: second.demo.simulator_url }).toEqual(lasting(second.demo))
    expect(new URL(simulator_url).port).not.toBe(String(other.port))
    expect(await statusOf(third.demo, message)).toBe('delivered')
    expect(await statusOf(third.demo, slow)).toMatch(/^(sent|delivered)$/)
    await becomes(third.demo, await sendImage(third.demo), 'delivered')
    const hanging = await sendImage(third.demo, NEVER_ANSWERS)
    await becomes(third.demo, hanging, 'sending')
    // One Ctrl-C arrives twice, from the terminal and from npm; signals close together count as one, later ones do not.
    const presses = setInterval(() => third.process.kill('SIGINT'), 50)
    const ended = await third.process.ended
    clearInterval(presses)
    expect(ended).toEqual({ code: 130, signal: null })
    await nothingLeft(dataDir)

    // npm killed with -9 takes the service with it, and the next start needs no waiting by hand.
    const fourth = await startLaneway(dataDir, {}, NPM_START)
    expect(lasting(fourth.demo)).toEqual(lasting(third.demo))
    expect(await statusOf(fourth.demo, hanging)).not.toBe('queued')
    fourth.process.kill('SIGKILL')

    // The seeding before was cut off.
    writeFileSync(join(dataDir, 'demo-keys.private.json'), '{"state":"seeding"}')
    const fifth = await startLaneway(dataDir)
    expect(fifth.demo.account_id).toBeGreaterThan(first.demo.other_account.account_id)
    await becomes(fifth.demo, await sendImage(fifth.demo), 'delivered')
    // In order within its 20 s although WhatsApp never answers.
    await becomes(fifth.demo, await sendImage(fifth.demo, NEVER_ANSWERS), 'sending')
    fifth.process.kill('SIGINT')
    expect(await fifth.process.ended).toEqual({ code: 0, signal: null })
    nothingIsLeft()
  },
)

testInFolder(
  'a start works however often and wherever the first was stopped or killed, and a terminal that is closed takes it along',
  async ({ dataDir }) => {
    // A stop in the middle of a start leaves no process and no half of a start.
    const stopped = launchLaneway(dataDir)
    await eventually(async () => existsSync(join(dataDir, 'redis', 'redis.pid')), 'its Redis', 150_000)
    stopped.kill('SIGINT')
    expect(await stopped.ended).toEqual({ code: 0, signal: null })
    await nothingLeft(dataDir)
    expect(existsSync(demoFile(dataDir))).toBe(false)
    rmSync(join(dataDir, 'redis'), { recursive: true })

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
    const terminal = ['script', '--quiet', '--command', 'npm start', '/dev/null'] as const
    const { demo, process: script } = await startLaneway(dataDir, {}, terminal)
    await becomes(demo, await sendImage(demo), 'delivered')
    script.kill('SIGKILL')
    await nothingLeft(dataDir)
    expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)
    expect(existsSync(join(dataDir, 'redis', 'redis.pid'))).toBe(false)
  },
)
