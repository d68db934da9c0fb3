import { configDefaults, defineConfig } from 'vitest/config'
import SlowFirst from './test/support/slow-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Those need programs beyond Node and Redis: vitest.servers.config.ts.
    exclude: [...configDefaults.exclude, 'test/servers/**'],
    globalSetup: ['test/support/global-setup.ts', 'test/support/in-memory.ts', 'test/support/whole-run.ts'],
    setupFiles: ['test/support/watch-answers.ts'],
    // Limits are there to end what hangs. They cost nothing when all is well, and a busy machine needs them wide.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000, interval: 25 } },
    // Modules are loaded once per worker instead of once per file, which halves the CPU time of the fast tests. So no
    // file may leave anything behind in a module or in the process: whatever it starts or replaces it ends or puts back.
    pool: 'forks',
    isolate: false,
    // Many tests mostly wait, so that two more than the usual two keep both busy. With a third one more, tests that start
    // processes or hold a time limit starve now and then.
    maxWorkers: 4,
    maxConcurrency: 4,
    sequence: { sequencer: SlowFirst },
    // What came of transforming a module is kept by its content, which spares half of the CPU time of running one file.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest-modules' },
  },
})
