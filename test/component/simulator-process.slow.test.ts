// Pins: the simulator as its users start it: the compiled file in a process of its own.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { cloudText, idOf, postCloud } from '../support/simulator-wires.ts'
import { listen } from '../testbed/free-port.ts'

const main = fileURLToPath(new URL('../../dist/simulator/main.js', import.meta.url))
const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

function start(env: Record<string, string>): { child: ChildProcess; output: () => string; errors: () => string } {
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += String(chunk)
  })
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  return { child, output: () => output, errors: () => errors }
}

const listeningLine = z.strictObject({ event: z.literal('simulator.listening'), url: z.url() })

test('the simulator prints one line when it listens, serves both wires and exits 0 on SIGTERM', async () => {
  const { child, output } = start({ SIMULATOR_PORT: '0' })
  await expect.poll(output).toMatch(/\n$/)
  const { url } = listeningLine.parse(JSON.parse(output()))
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  idOf(await postCloud(url, cloudText('+491701234567')))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(output().trim().split('\n')).toHaveLength(1)
})

test('the simulator exits on SIGTERM even while an answer hangs', async () => {
  const { child, output } = start({ SIMULATOR_PORT: '0' })
  await expect.poll(output).toMatch(/\n$/)
  const { url } = listeningLine.parse(JSON.parse(output()))
  const hanging = postCloud(url, cloudText('+15550100302')).catch((error: unknown) => error)
  await expect.poll(async () => (await fetch(`${url}/_ledger?count=1`)).json()).toEqual({ count: 1 })
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(await hanging).toBeInstanceOf(Error)
})

test('the simulator reports its address to a parent that forked it, and ends when the parent disconnects', async () => {
  const child = fork(main, { env: { SIMULATOR_PORT: '0' }, stdio: 'ignore' })
  started.push(child)
  const [message] = await once(child, 'message')
  const { listening } = z.strictObject({ listening: z.url() }).parse(message)
  expect((await fetch(`${listening}/_health`)).status).toBe(200)
  child.disconnect()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('the simulator ends when its parent disconnects while it is still loading', async () => {
  const child = fork(main, { env: { SIMULATOR_PORT: '0' }, stdio: 'ignore' })
  started.push(child)
  child.disconnect()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('a taken port is one clear sentence and exit 1', async () => {
  const other = createServer()
  const port = await listen(other)
  const { child, errors, output } = start({ SIMULATOR_PORT: String(port) })
  expect(await once(child, 'close')).toEqual([1, null])
  expect(errors()).toBe(
    `Port ${port} on 127.0.0.1 is taken; set SIMULATOR_PORT to another one, or to 0 for any free one.\n`,
  )
  expect(output()).toBe('')
  other.close()
})

test('a wrong setting is one clear sentence and exit 1', async () => {
  const { child, errors } = start({ SIMULATOR_PORT: 'many' })
  expect(await once(child, 'close')).toEqual([1, null])
  expect(errors()).toBe('SIMULATOR_PORT must be a whole number from 0 to 65535, got "many".\n')
})
