// Stopping and starting again on the same data folder: what survives, and what must not be left behind.
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { becomes, sendImage, sendUnderWay, statusOf } from '../support/calls.ts'
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

// Each start costs seconds, so two tests go through all the ways in which a service ends, and look after each of them at what
// the next start finds.
testInFolder(
  'a start finds the same data, keys and ports however the last one ended, and finishes what was left undone',
  async ({ dataDir }) => {
    // npm waits for the stop. It finishes what is in flight, and is in order within its 20 s although WhatsApp never answers.
    const first = await startLaneway(dataDir, {}, NPM_START)
    await sendUnderWay(first.demo, NEVER_ANSWERS)
    const slow = await sendUnderWay(first.demo, ANSWERS_AFTER_2_S)
    first.process.kill('SIGTERM')
    expect(await first.process.ended).toEqual({ code: 0, signal: null })
    expect(processesNaming(dataDir)).toEqual([])
    expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)

    const second = await startLaneway(dataDir)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    expect(await statusOf(second.demo, slow)).toMatch(/^(sent|delivered)$/)
    const hanging = await sendUnderWay(second.demo, NEVER_ANSWERS)
    // One Ctrl-C arrives twice, from the terminal and from npm; signals close together count as one, later ones do not.
    const presses = setInterval(() => second.process.kill('SIGINT'), 50)
    const ended = await second.process.ended
    clearInterval(presses)
    expect(ended).toEqual({ code: 130, signal: null })
    await nothingLeft(dataDir)

    const third = await startLaneway(dataDir)
    expect(lasting(third.demo)).toEqual(lasting(first.demo))
    expect(await statusOf(third.demo, hanging)).not.toBe('queued')
    const message = await sendImage(third.demo)
    await becomes(third.demo, message, 'delivered')
    const messages = await Promise.all(Array.from({ length: 20 }, () => sendImage(third.demo)))
    const leftOver = Number(readFileSync(join(dataDir, 'redis/redis.pid'), 'utf8'))
    third.process.kill('SIGKILL')
    await third.process.ended
    expect(processesNaming(dataDir)).toContain(leftOver)

    // The simulator has to take another port, and the demo senders follow.
    const other = await takePort()
    writeFileSync(join(dataDir, 'ports.json'), JSON.stringify({ simulator: other.port }))
    const fourth = await startLaneway(dataDir)
    await other.release()
    expect(processesNaming(dataDir)).not.toContain(leftOver)
    const { simulator_url, ...rest } = lasting(fourth.demo)
    expect({ ...rest, simulator_url: third.demo.simulator_url }).toEqual(lasting(third.demo))
    expect(new URL(simulator_url).port).not.toBe(String(other.port))
    expect(await statusOf(fourth.demo, message)).toBe('delivered')
    for (const each of messages) expect(await statusOf(fourth.demo, each)).toMatch(/^[a-z]+$/)
    await becomes(fourth.demo, await sendImage(fourth.demo), 'delivered')
  },
)

testInFolder(
  'a start works however often and wherever the first was stopped or killed, and ends with its npm or terminal',
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
    const first = await startLaneway(dataDir, {}, NPM_START)
    await becomes(first.demo, await sendImage(first.demo), 'delivered')
    // Killed with -9, and the next start needs no waiting by hand.
    first.process.kill('SIGKILL')

    // As if the seeding had been cut off.
    writeFileSync(join(dataDir, 'demo-keys.private.json'), '{"state":"seeding"}')
    const terminal = ['script', '--quiet', '--command', 'npm start', '/dev/null'] as const
    const { demo, process: script } = await startLaneway(dataDir, {}, terminal)
    expect(demo.account_id).toBeGreaterThan(first.demo.other_account.account_id)
    await becomes(demo, await sendImage(demo), 'delivered')
    script.kill('SIGKILL')
    await nothingLeft(dataDir)
    expect(existsSync(join(dataDir, 'laneway.pid'))).toBe(false)
    expect(existsSync(join(dataDir, 'redis', 'redis.pid'))).toBe(false)
  },
)
