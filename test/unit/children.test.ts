// Pins: what a process of tests has started ends with it, also when a signal ends it. Real: processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { transformWithOxc } from 'vite'
import { expect, test } from 'vitest'

test.each(['SIGTERM', 'exit'])('a child process ends with the process that started it: %s', async (end) => {
  const { code } = await transformWithOxc(readFileSync('test/testbed/children.ts', 'utf8'), 'children.ts')
  const script = `${code}
    const child = startChild(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'inherit'] })
    console.log(child.pid)
    process.stdin.once('data', () => process.exit())`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [pid] = await once(createInterface({ input: starter.stdout }), 'line')
  expect(Number(pid)).toBeGreaterThan(1)
  if (end === 'SIGTERM') starter.kill(end)
  else starter.stdin.write('end')
  // Its output closes only when nobody holds it any more.
  await once(starter, 'close')
})
