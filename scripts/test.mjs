// `npm test`: the same set-up as `npm start`, then every test. Further arguments go to vitest:
// `npm test -- test/unit/phone.test.ts -t plus`.
import { runTests } from './run-tests.mjs'

runTests(process.argv.slice(2))
