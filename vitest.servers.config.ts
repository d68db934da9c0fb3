// `npm run test:servers`, see scripts/test-servers.mjs.
import { defineConfig } from 'vitest/config'
import everyTest from './vitest.config.ts'

export default defineConfig({
  test: { ...everyTest.test, include: ['test/servers/**/*.test.ts'], exclude: [] },
})
