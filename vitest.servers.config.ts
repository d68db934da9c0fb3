// `npm run test:servers`, see scripts/test-servers.mjs.
import { configDefaults, defineConfig } from 'vitest/config'
import everyTest from './vitest.config.ts'

export default defineConfig({
  test: {
    ...everyTest.test,
    // An S3 server wants a real disk, and only a run of all tests is held to all answers.
    globalSetup: ['test/support/global-setup.ts'],
    include: ['test/servers/**/*.test.ts'],
    exclude: configDefaults.exclude,
  },
})
