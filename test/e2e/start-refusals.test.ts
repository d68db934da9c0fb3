// What `npm start` says when it cannot start: one sentence that tells what to do, exit code 1, nothing left behind.
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { becomes, sendImage } from '../support/calls.ts'
import { demoFile, launchLaneway, newDataDir, startLaneway, testInFolder } from '../support/laneway.ts'
import { nothingLeft, startProcess, takePort } from '../support/processes.ts'
import { startRedis } from '../support/redis.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from '../testbed/free-port.ts'

/** Starts it, waits for its end and returns what it wrote to stderr. */
async function refusal(
  dataDir: string,
  env: Record<string, string>,
  command?: readonly [string, ...string[]],
): Promise<string> {
  const started = launchLaneway(dataDir, env, command)
  expect(await started.ended).toEqual({ code: 1, signal: null })
  await nothingLeft(dataDir)
  return started.stderr().trim()
}

// All of these mostly wait for processes, so they run side by side, the longest first.
describe.concurrent('with REDIS_URL', () => {
  testInFolder(
    'a start uses that Redis, starts none, seeds it once, and leaves it alone if its accounts belong to another folder',
    async ({ dataDir }) => {
      const redis = await startRedis()
      const env = { REDIS_URL: redis.url }
      const first = await startLaneway(dataDir, env)
      expect(first.demo.redis_url).toBe(redis.url)
      expect(existsSync(join(dataDir, 'redis'))).toBe(false)
      await becomes(first.demo, await sendImage(first.demo), 'delivered')
      first.process.kill('SIGTERM')
      await first.process.ended

      const elsewhere = newDataDir()
      const stranger = launchLaneway(elsewhere.dataDir, env)
      const second = await startLaneway(dataDir, env)
      expect(second.demo.api_key).toBe(first.demo.api_key)
      expect(second.demo.account_id).toBe(first.demo.account_id)
      second.process.kill('SIGTERM')
      await second.process.ended

      await eventually(async () => stranger.stdout().includes('Laneway is ready'), 'the banner', 150_000)
      expect(stranger.stdout()).toContain('This Redis holds accounts already')
      expect(existsSync(demoFile(elsewhere.dataDir))).toBe(false)
      stranger.kill('SIGTERM')
      expect(await stranger.ended).toEqual({ code: 0, signal: null })
      await elsewhere.remove()
      await redis.stop()
    },
  )
})

testInFolder('a start in production has neither a simulator nor demo data', async ({ dataDir }) => {
  const started = launchLaneway(dataDir, {
    LANEWAY_ENV: 'production',
    LANEWAY_SECRET_KEY: 'a key of at least thirty-two characters',
    LANEWAY_PUBLIC_URL: 'https://laneway.example',
  })
  await eventually(async () => started.stdout().includes('Laneway is ready'), 'the banner', 150_000)
  expect(started.stdout()).toContain('LANEWAY_ENV is production')
  expect(statSync(join(dataDir, 'redis/redis.sock')).isSocket()).toBe(true)
  expect(existsSync(join(dataDir, 'ports.json'))).toBe(false)
  expect(existsSync(join(dataDir, 'simulator.log'))).toBe(false)
  expect(existsSync(demoFile(dataDir))).toBe(false)
  started.kill('SIGTERM')
  expect(await started.ended).toEqual({ code: 0, signal: null })
})

describe.concurrent('a start is refused in one sentence', () => {
  testInFolder('when the port is taken, and no Redis was started by then', async ({ dataDir }) => {
    const other = await takePort()
    expect(await refusal(dataDir, { PORT: String(other.port) })).toBe(
      `Port ${other.port} on 127.0.0.1 is taken by another program; set PORT to a free one, or to 0.`,
    )
    expect(existsSync(join(dataDir, 'redis'))).toBe(false)
    await other.release()
  })

  testInFolder('when the address does not belong to this machine', async ({ dataDir }) => {
    expect(await refusal(dataDir, { HOST: '192.0.2.1' })).toMatch(
      /^HOST is "192\.0\.2\.1": this machine has no such address/,
    )
  })

  testInFolder('when settings are wrong, and each of them is named', async ({ dataDir }) => {
    const words = await refusal(dataDir, { PORT: 'http', LANEWAY_MAX_TRIES: '0' })
    expect(words).toMatch(/PORT is "http"/)
    expect(words).toMatch(/LANEWAY_MAX_TRIES is "0"/)
    expect(words).not.toMatch(/\n/)
  })

  testInFolder('when the data folder cannot be written', async ({ dataDir }) => {
    // Below a regular file, because permissions do not keep root out.
    const file = join(dataDir, 'file')
    writeFileSync(file, '')
    expect(await refusal(dataDir, { LANEWAY_DATA_DIR: join(file, 'data') })).toBe(
      `The data folder ${join(file, 'data')} cannot be written (part of the path is a file); set LANEWAY_DATA_DIR to one that can.`,
    )
    expect(await refusal(dataDir, { LANEWAY_DATA_DIR: file })).toMatch(/cannot be written \(it is a file\)/)
  })

  testInFolder('when the Redis of REDIS_URL is away, without revealing its password', async ({ dataDir }) => {
    const port = await freePort()
    const words = await refusal(dataDir, { REDIS_URL: `redis://:secret@127.0.0.1:${port}` })
    expect(words).toMatch(new RegExp(`^The Redis of REDIS_URL \\(127\\.0\\.0\\.1:${port}\\) does not answer: .+\\.$`))
    expect(words).not.toContain('secret')
  })

  testInFolder(
    'when the port of the simulator is taken; once it is free, the simulator uses it',
    async ({ dataDir }) => {
      const other = await takePort()
      const env = { SIMULATOR_PORT: String(other.port) }
      expect(await refusal(dataDir, env)).toBe(
        `The simulator did not start: Port ${other.port} on 127.0.0.1 is taken; set SIMULATOR_PORT to another one, or to 0 for any free one.`,
      )
      await other.release()
      const started = await startLaneway(dataDir, env)
      expect(started.demo.simulator_url).toBe(`http://127.0.0.1:${other.port}`)
      await becomes(started.demo, await sendImage(started.demo), 'delivered')
      started.process.kill('SIGTERM')
      await started.process.ended
    },
  )

  testInFolder(
    'when there is no Redis server and no way to install one, with the commands that help',
    async ({ dataDir }) => {
      const words = await refusal(dataDir, { PATH: '/nowhere' }, [process.execPath, 'scripts/run.mjs', 'start'])
      expect(words).toMatch(/^Laneway needs a Redis server/)
      for (const command of ['apt-get install -y', 'brew install redis', 'docker compose up', 'REDIS_URL=']) {
        expect(words).toContain(command)
      }
    },
  )

  testInFolder('when a single process has no Redis address', async ({ dataDir }) => {
    const parts = ['producer', 'worker'].map((part) =>
      startProcess(process.execPath, [`dist/start/${part}.js`], { LANEWAY_DATA_DIR: dataDir }),
    )
    for (const started of parts) {
      expect(await started.ended).toEqual({ code: 1, signal: null })
      expect(started.stderr().trim()).toMatch(/^REDIS_URL must be set/)
      expect(started.stderr()).toContain(`redis_url in ${demoFile(dataDir)} is its address`)
    }
  })
})
