// Stopping and starting again on the same data folder: what survives, and what must not be left behind.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { becomes, sendImage, statusOf } from '../support/calls.ts'
import type { Demo } from '../support/laneway.ts'
import { demoFile, launchLaneway, newDataDir, readyDemo, startLaneway } from '../support/laneway.ts'
import { nothingLeft, processesNaming, takePort } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

// Processes start in seconds, and on a busy machine in many.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** Numbers of the simulator's table. */
const ANSWERS_AFTER_2_S = '+15550100301'
const NEVER_ANSWERS = '+15550100302'

let folder: ReturnType<typeof newDataDir>
beforeEach(() => {
  folder = newDataDir()
})
afterEach(() => folder.remove())

/** What must be the same after a restart: everything but the address, which PORT=0 makes new. */
const lasting = ({ base_url: _, ...rest }: Demo) => rest

describe('a start after a stop', () => {
  test('finds the same data under the same keys and ports', async () => {
    const first = await startLaneway(folder.dataDir)
    const message = await sendImage(first.demo)
    await becomes(first.demo, message, 'delivered')
    first.process.kill('SIGTERM')
    expect(await first.process.ended).toEqual({ code: 0, signal: null })
    await nothingLeft(folder.dataDir)

    const second = await startLaneway(folder.dataDir)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    expect(await statusOf(second.demo, message)).toBe('delivered')
    await becomes(second.demo, await sendImage(second.demo), 'delivered')
  })

  test('lets the demo senders follow when the simulator has to take another port', async () => {
    const first = await startLaneway(folder.dataDir)
    first.process.kill('SIGTERM')
    await first.process.ended
    const other = await takePort()
    const portsFile = join(folder.dataDir, 'ports.json')
    const ports = JSON.parse(readFileSync(portsFile, 'utf8')) as { redis: number }
    writeFileSync(portsFile, JSON.stringify({ ...ports, simulator: other.port }))

    const second = await startLaneway(folder.dataDir)
    await other.release()
    expect(new URL(second.demo.simulator_url).port).not.toBe(String(other.port))
    await becomes(second.demo, await sendImage(second.demo), 'delivered')
  })

  test('seeds anew when the seeding before was cut off', async () => {
    const first = await startLaneway(folder.dataDir)
    first.process.kill('SIGTERM')
    await first.process.ended
    writeFileSync(join(folder.dataDir, 'demo-keys.private.json'), '{"state":"seeding"}')

    const second = await startLaneway(folder.dataDir)
    expect(second.demo.account_id).toBeGreaterThan(first.demo.other_account.account_id)
    await becomes(second.demo, await sendImage(second.demo), 'delivered')
  })
})

describe('a start after a kill -9', () => {
  test('ends the left-over Redis and finds every acknowledged message', async () => {
    const first = await startLaneway(folder.dataDir)
    const messages = await Promise.all(Array.from({ length: 20 }, () => sendImage(first.demo)))
    const leftOver = Number(readFileSync(join(folder.dataDir, 'redis/redis.pid'), 'utf8'))
    first.process.kill('SIGKILL')
    await first.process.ended
    expect(processesNaming(folder.dataDir)).toContain(leftOver)

    const second = await startLaneway(folder.dataDir)
    expect(processesNaming(folder.dataDir)).not.toContain(leftOver)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    for (const message of messages) expect(await statusOf(second.demo, message)).toMatch(/^[a-z]+$/)
    await becomes(second.demo, await sendImage(second.demo), 'delivered')
  })

  // Marks of progress in the data folder, in the order in which a first start makes them.
  test.each(['laneway.pid', 'redis', 'simulator.log', 'demo-keys.private.json', 'gallery'])(
    'works when the first start was killed as soon as %s was there',
    async (mark) => {
      const killed = launchLaneway(folder.dataDir)
      await eventually(async () => readdirSync(folder.dataDir).includes(mark), mark)
      killed.kill('SIGKILL')
      await killed.ended
      const { demo } = await startLaneway(folder.dataDir)
      await becomes(demo, await sendImage(demo), 'delivered')
    },
  )
})

describe('npm', () => {
  const npmStart = ['npm', 'start'] as const

  test('killed with -9 takes the service with it, and the next start needs no waiting by hand', async () => {
    const first = await startLaneway(folder.dataDir, {}, npmStart)
    first.process.kill('SIGKILL')
    const second = await startLaneway(folder.dataDir, {}, npmStart)
    expect(lasting(second.demo)).toEqual(lasting(first.demo))
    second.process.kill('SIGKILL')
    await nothingLeft(folder.dataDir)
  })

  test('in a terminal that is closed takes the service with it', async () => {
    const terminal = ['script', '--quiet', '--command', 'npm start', '/dev/null'] as const
    const { process: script } = await startLaneway(folder.dataDir, {}, terminal)
    script.kill('SIGKILL')
    await nothingLeft(folder.dataDir)
    expect(existsSync(join(folder.dataDir, 'laneway.pid'))).toBe(false)
    expect(existsSync(join(folder.dataDir, 'redis', 'redis.pid'))).toBe(false)
  })

  test('that is told to stop waits for the service to stop', async () => {
    const { process: npm } = await startLaneway(folder.dataDir, {}, npmStart)
    npm.kill('SIGTERM')
    expect(await npm.ended).toEqual({ code: 0, signal: null })
    expect(processesNaming(folder.dataDir)).toEqual([])
  })
})

describe('a stop', () => {
  test('by Ctrl-C finishes what is in flight, then leaves no process', async () => {
    const { process: started, demo } = await startLaneway(folder.dataDir)
    const slow = await sendImage(demo, ANSWERS_AFTER_2_S)
    await becomes(demo, slow, 'sending')
    started.kill('SIGINT')
    expect(await started.ended).toEqual({ code: 0, signal: null })
    expect(processesNaming(folder.dataDir)).toEqual([])
    expect(existsSync(join(folder.dataDir, 'laneway.pid'))).toBe(false)

    const again = await startLaneway(folder.dataDir)
    expect(await statusOf(again.demo, slow)).toMatch(/^(sent|delivered)$/)
  })

  test('ends in order within its 20 s although the chat product never answers', async () => {
    const { process: started, demo } = await startLaneway(folder.dataDir)
    await becomes(demo, await sendImage(demo, NEVER_ANSWERS), 'sending')
    started.kill('SIGTERM')
    expect(await started.ended).toEqual({ code: 0, signal: null })
    expect(processesNaming(folder.dataDir)).toEqual([])
  })

  test('asked for twice ends at once, and the data is safe', async () => {
    const { process: started, demo } = await startLaneway(folder.dataDir)
    const hanging = await sendImage(demo, NEVER_ANSWERS)
    await becomes(demo, hanging, 'sending')
    // One Ctrl-C arrives twice, from the terminal and from npm; signals close together count as one, later ones do not.
    const presses = setInterval(() => started.kill('SIGINT'), 50)
    const ended = await started.ended
    clearInterval(presses)
    expect(ended).toEqual({ code: 130, signal: null })
    await nothingLeft(folder.dataDir)

    const again = await startLaneway(folder.dataDir)
    expect(await statusOf(again.demo, hanging)).not.toBe('queued')
  })

  test('in the middle of a start leaves no process and no half of a start', async () => {
    const started = launchLaneway(folder.dataDir)
    await eventually(async () => existsSync(join(folder.dataDir, 'redis', 'redis.pid')), 'its Redis')
    started.kill('SIGINT')
    expect(await started.ended).toEqual({ code: 0, signal: null })
    await nothingLeft(folder.dataDir)
    expect(existsSync(demoFile(folder.dataDir))).toBe(false)

    const again = launchLaneway(folder.dataDir)
    await readyDemo(folder.dataDir, again)
  })
})
