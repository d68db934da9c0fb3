// Pins what `npm run build` makes of a program: a few files in place of a thousand, whose errors name the source, and
// beside it the program as it was compiled. Real: the command line in processes of its own.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'laneway-bundle-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program with another module loaded before it. */
function run(program: string, preload: string, ...words: string[]) {
  const file = join(folder, 'preload.mjs')
  writeFileSync(file, preload)
  return spawnSync(process.execPath, ['--import', file, program, ...words], {
    encoding: 'utf8',
    // Of a part: started by npm, with a Redis that is not there.
    env: { ...process.env, npm_lifecycle_event: 'test', REDIS_URL: 'redis://127.0.0.1:1', LANEWAY_DATA_DIR: folder },
  })
}

/** The files that a program loads until it ends. */
function loadedBy(program: string): string[] {
  const list = join(folder, 'loaded')
  writeFileSync(list, '')
  const hooks = `
    import { appendFileSync } from 'node:fs'
    export const load = (url, context, next) => {
      if (!url.startsWith('node:')) appendFileSync(${JSON.stringify(list)}, url + '\\n')
      return next(url, context)
    }`
  const address = `data:text/javascript,${encodeURIComponent(hooks)}`
  const { status } = run(
    program,
    `import { register } from 'node:module'; register(${JSON.stringify(address)})`,
    '--help',
  )
  expect(status).toBe(0)
  return readFileSync(list, 'utf8').trim().split('\n')
}

test('a program loads its bundle, with all libraries in it', () => {
  const files = loadedBy('dist/cli.js')
  expect(files.length).toBeLessThan(50)
  expect(files.filter((file) => file.includes('/node_modules/'))).toEqual([])
})

test('beside it is the program that loads the compiled files', () => {
  const files = loadedBy('dist/cli.plain.js')
  expect(files.filter((file) => file.includes('/dist/bundle/'))).toEqual([])
  expect(files.some((file) => file.endsWith('/dist/cli/run.js'))).toBe(true)
})

test('the stack of an error in the bundle of a command names the file and the line of the source', () => {
  const broken = "process.stdout.write = () => { throw new Error('an odd pipe') }"
  const { stderr } = run('dist/cli.js', broken, '--version')
  expect(stderr).toContain('Error: an odd pipe')
  expect(stderr).toMatch(/src\/cli\/\S+\.ts:\d+:\d+/)
})

test('a part looks a stack up when it is logged, and not whenever somebody asks for it', () => {
  // The second look at the parent is that of the check that it is still there.
  const broken = `
    let looks = 0
    const parent = process.ppid
    Object.defineProperty(process, 'ppid', { get: () => { if (looks++ > 0) throw new Error('an odd parent'); return parent } })
    process.on('uncaughtException', (error) => process.stderr.write(error.stack))`
  const { stdout, stderr, status } = run('dist/start/producer.js', broken)
  expect(status).toBe(1)
  expect(stderr).toMatch(/Error: an odd parent[\s\S]*dist\/bundle\/\S+\.js:\d+:\d+/)
  const fault = stdout.split('\n').find((line) => line.includes('process.fault'))
  expect(fault).toMatch(/src\/start\/lifecycle\.ts:\d+:\d+/)
  expect(fault).not.toContain('dist/bundle')
})
