// Pins the last net under a process: an error that nobody caught is logged with its cause, requests that are under way
// are answered, every part is stopped in order, and the process ends with 1.
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { spawnCli } from '../support/cli.ts'
import { startHostileGround } from '../support/hostile-producer.ts'
import { launchLaneway, newDataDir, readyDemo } from '../support/laneway.ts'
import { eventually } from '../support/wait.ts'

/** Makes a process throw on SIGUSR2, where no promise and no handler is around it. */
const THROWS = "process.on('SIGUSR2', () => setImmediate(() => { throw new Error('out of nowhere') }))"
const REJECTS = "process.on('SIGUSR2', () => void Promise.reject(new Error('out of nowhere')))"

// The tests mostly wait for processes, each for its own, so they run side by side.
test.concurrent('npm start that has run for a while starts again with the same data, and ends when told to', async () => {
  const { dataDir, remove } = newDataDir()
  // A minute is not waited for.
  const preload = `${THROWS}; process.uptime = () => 61`
  const started = launchLaneway(dataDir, {}, [
    process.execPath,
    '--import',
    `data:text/javascript,${encodeURIComponent(preload)}`,
    'dist/demo/start.js',
  ])
  const before = await readyDemo(dataDir, started)
  started.kill('SIGUSR2')
  await eventually(async () => started.stderr().includes('is restarting'), 'it says so', 60_000)
  const after = await readyDemo(dataDir, started)
  expect(after.api_key).toBe(before.api_key)
  expect((await fetch(`${after.base_url}/readyz`)).status).toBe(200)
  started.kill('SIGTERM')
  expect((await started.ended).code).toBe(0)
  await remove()
})

test.concurrent('an uncaught exception lets a producer finish its requests, and then ends it in order', async () => {
  const ground = await startHostileGround({ preload: THROWS })
  const { hostname, port } = new URL(ground.url)
  const body = JSON.stringify({ api_key: ground.key, message_id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV' })
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const begun = new Promise((resolve) => socket.once('data', resolve))
  socket.write(
    'POST /chatappbusiness/getmessgageinfobyid HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
      `expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  )
  await begun
  ground.process.kill('SIGUSR2')
  await eventually(async () => ground.process.stdout().includes('stop.began'), 'the stop begins')
  socket.write(body.slice(10))
  await closed
  expect(received).toContain('HTTP/1.1 404 Not Found')
  expect(await ground.process.ended).toEqual({ code: 1, signal: null })
  const log = ground.process.stdout()
  expect(log.match(/process\.fault/g)).toHaveLength(1)
  expect(log).toContain('out of nowhere')
  expect(log.indexOf('process.fault')).toBeLessThan(log.indexOf('producer.stopped'))
  await ground.stop()
})

test.concurrent('an unhandled rejection right after the start ends all parts of npm start, which prints why', async () => {
  const { dataDir, remove } = newDataDir()
  // On a busy machine a minute may pass until it is ready.
  const preload = `${REJECTS}; process.uptime = () => 59`
  const started = launchLaneway(dataDir, {}, [
    process.execPath,
    '--import',
    `data:text/javascript,${encodeURIComponent(preload)}`,
    'dist/demo/start.js',
  ])
  await readyDemo(dataDir, started)
  started.kill('SIGUSR2')
  expect(await started.ended).toEqual({ code: 1, signal: null })
  expect(started.stderr()).toContain('start it with npm start')
  expect(started.stdout()).toContain('out of nowhere')
  await remove()
})

test.concurrent('a warning of Node is a line of the log, and nothing else is on either output', async () => {
  const warns = "process.on('SIGUSR2', () => process.emitWarning('too many of them', 'MaxListenersExceededWarning'))"
  const ground = await startHostileGround({ preload: warns })
  const { process: producer } = ground
  producer.kill('SIGUSR2')
  await eventually(async () => producer.stdout().includes('process.warning'), 'it is logged')
  producer.kill('SIGTERM')
  expect((await producer.ended).code).toBe(0)
  const lines = producer.stdout().trim().split('\n')
  const logged = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'process.warning')
  expect(logged).toMatchObject([{ level: 40, err: { message: 'too many of them' } }])
  expect(producer.stderr()).toBe('')
  await ground.stop()
})

test.concurrent('the command line prints an unexpected error, and ends with 1', async () => {
  const onceWatched = `process.on('newListener', (event) => {
    if (event === 'uncaughtException') setImmediate(() => { throw new Error('out of nowhere') })
  })`
  const done = await spawnCli(['--help'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(onceWatched)}`,
  })
  expect(done.code).toBe(1)
  expect(done.stderr).toMatch(/^error: this was not expected: Error: out of nowhere/)
})
