// The order of test files: the longest first, so that a run does not end with one worker at a long file and the others
// idle. How long a file takes is guessed from where it is: the name says which are slow, see CONTRIBUTING.md.
import { statSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** It takes by far the longest. */
const PROOF = /\/servers\/prove\.test\.ts$/
/** Start processes, one after the other: they want a core. */
const BUSY = /\/e2e\//
/** Long because they wait, the longest kind first. */
const WAITING = [/\.slow\.test\.ts$/, /\/security\//, /\/component\//]

/**
 * The proof, then those that are busy and those that wait in turns, so that neither the cores nor the waits are left to
 * the end; of a kind by their size, as the longer ones take longer on average.
 */
export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = files
      .map((file) => ({ file, size: statSync(file.moduleId).size }))
      .sort((a, b) => b.size - a.size)
      .map(({ file }) => file)
    const isProof = ({ moduleId }: TestSpecification) => PROOF.test(moduleId)
    const isBusy = (file: TestSpecification) => !isProof(file) && BUSY.test(file.moduleId)
    const busy = bySize.filter(isBusy)
    const waiting = bySize
      .filter((file) => !isProof(file) && !isBusy(file))
      .map((file) => ({ file, kind: WAITING.findIndex((pattern) => pattern.test(file.moduleId)) }))
      .sort((a, b) => (a.kind === -1 ? WAITING.length : a.kind) - (b.kind === -1 ? WAITING.length : b.kind))
      .flatMap(({ file }) => [file, ...busy.splice(0, 1)])
    return [...bySize.filter(isProof), ...waiting, ...busy]
  }
}
