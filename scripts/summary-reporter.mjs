// A vitest reporter that ends the run with one line for people and programs: `123 passed, 0 failed`. A file that could
// not be loaded and an error outside of every test count as failed, and so does a run that fails when it is closed.
export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        if (state === 'failed') failed += 1
      }
    }
    // At exit, because the default reporter prints its summary after this hook, and what is found when the run is
    // closed (test/support/whole-run.ts) is known only then.
    process.on('exit', (code) => {
      if (code !== 0 && failed === 0) failed = 1
      process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
    })
  }
}
