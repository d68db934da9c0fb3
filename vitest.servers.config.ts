// `npm run test:servers`, see scripts/test-servers.mjs.
import { configDefaults, defineConfig } from 'vitest/config'
import everyTest from './vitest.config.ts'

export default defineConfig({
  test: { ...everyTest.test, include: ['test/servers/**/*.test.ts'], exclude: configDefaults.exclude },
})
