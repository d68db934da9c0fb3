// The order of test files: the longest first, so that a run does not end with one worker at a long file and the others
// idle. How long a file takes is guessed from where it is: the name says which are slow, see CONTRIBUTING.md.
import { statSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The proof takes by far the longest, then the processes, then what is named slow. */
const SLOWEST_FIRST = [/\/e2e\/prove\.test\.ts$/, /\/e2e\//, /\.slow\.test\.ts$/, /\/security\//, /\/component\//]

/** Files of a kind in the order of their size, as the longer ones take longer on average. */
export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const kind = SLOWEST_FIRST.findIndex((pattern) => pattern.test(moduleId))
      return { kind: kind === -1 ? SLOWEST_FIRST.length : kind, size: statSync(moduleId).size }
    }
    return files
      .map((file) => ({ file, ...placeOf(file) }))
      .sort((a, b) => a.kind - b.kind || b.size - a.size)
      .map(({ file }) => file)
  }
}
