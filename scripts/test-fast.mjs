// `npm run test:fast`: the unit tests and the component tests that are not named slow, for while one works. Further
// arguments go to vitest.
import { runTests } from './run-tests.mjs'

runTests(['test/unit', 'test/component', '--exclude', '**/*.slow.test.ts', ...process.argv.slice(2)])
