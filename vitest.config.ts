import { createRequire } from 'node:module'
import { join } from 'node:path'
import { configDefaults, defineConfig, type Plugin } from 'vitest/config'
import { bullmqTests } from './test/support/bullmq-tests.ts'
import SlowFirst from './test/support/slow-first.ts'

/** Where `npm run test:bullmq` has installed another BullMQ than the pinned one, and whether only the client has that. */
const { LANEWAY_TEST_BULLMQ: folder, LANEWAY_TEST_BULLMQ_OF: of } = process.env
const other = folder && createRequire(join(folder, 'package.json')).resolve('bullmq')

const anotherBullmq: Plugin = {
  name: 'another BullMQ',
  enforce: 'pre',
  resolveId: (name, importer = '') =>
    other && name === 'bullmq' && (of !== 'client' || importer.includes('/packages/client/')) ? other : undefined,
}

export default defineConfig({
  test: {
    // A snapshot that is missing fails here as it does in continuous integration; `--update` writes it.
    update: 'none',
    setupFiles: ['test/support/process-wide.ts', 'test/support/watch-answers.ts', 'test/support/watch-warnings.ts'],
    // Limits are there to end what hangs. They cost nothing when all is well, and a busy machine needs them wide.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000, interval: 25 } },
    // Modules are loaded once per worker instead of once per file, which halves the CPU time of the fast tests. So no
    // file may leave anything behind in a module or in the process: whatever it starts or replaces it ends or puts back.
    pool: 'forks',
    isolate: false,
    // Many tests mostly wait, so that two more than the usual two keep both busy. Six take no less time and more CPU: each
    // loads the modules for itself.
    maxWorkers: 4,
    maxConcurrency: 4,
    sequence: { sequencer: SlowFirst },
    // What came of transforming a module is kept by its content, which spares half of the CPU time of running one file. It
    // would also keep which BullMQ a module has.
    experimental: { fsModuleCache: folder === undefined, fsModuleCachePath: 'node_modules/.cache/vitest-modules' },
    projects: [
      {
        // `npm test`
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/servers/**'],
          globalSetup: ['test/support/global-setup.ts', 'test/support/in-memory.ts', 'test/support/whole-run.ts'],
        },
      },
      {
        // `npm run test:servers`: they need programs beyond Node and Redis, and an S3 server a real disk.
        extends: true,
        test: {
          name: 'servers',
          include: ['test/servers/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
      {
        // `npm run test:bullmq`
        extends: true,
        plugins: [anotherBullmq],
        test: {
          name: 'bullmq',
          include: bullmqTests({ isOfClientOnly: of === 'client' }),
          globalSetup: ['test/support/global-setup.ts', 'test/support/in-memory.ts'],
        },
      },
    ],
  },
})
