// Pins: the wrapper that producers are started with never keeps a program from starting, and changes nothing of it.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

function run(env: Record<string, string>, ...command: string[]) {
  return spawnSync('sh', ['scripts/with-allocator.sh', ...command], {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
}

const settingsIn = (output: string) => output.split('\n').filter((line) => /^(LD_PRELOAD|MALLOC_\w+)=/.test(line))

test('a program gets settings of the allocator, and an allocator that loads without a warning', () => {
  const { stdout, stderr, status } = run({}, 'env')
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
  const names = settingsIn(stdout).map((line) => line.split('=')[0])
  expect(names).toEqual(expect.arrayContaining(['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_']))
  // Both or neither, whether or not this machine has jemalloc.
  expect(names.includes('LD_PRELOAD')).toBe(names.includes('MALLOC_CONF'))
})

test('settings that the environment already has stay', () => {
  const preloaded = settingsIn(run({ LD_PRELOAD: 'libm.so.6' }, 'env').stdout)
  expect(preloaded).toContain('LD_PRELOAD=libm.so.6')
  expect(preloaded.some((line) => line.startsWith('MALLOC_CONF='))).toBe(false)
  expect(settingsIn(run({ MALLOC_CONF: 'narenas:1' }, 'env').stdout)).toContain('MALLOC_CONF=narenas:1')
})

test('arguments, exit code and process are those of the program', () => {
  const { stdout, status } = run({}, 'sh', '-c', 'echo "$1"; exit 7', 'sh', 'two  words')
  expect({ stdout, status }).toEqual({ stdout: 'two  words\n', status: 7 })
})
