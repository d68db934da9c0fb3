// After a run of all tests: which documented answers none of them saw.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { SEEN_FOLDER, unseen, unseenSentence } from './seen-answers.ts'

/** Fails a run of all tests by the documented answers that none of them saw. */
export default function setUp({ vitest }: TestProject): () => Promise<void> {
  const kept = process.env[SEEN_FOLDER]
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'laneway-seen-'))
  process.env[SEEN_FOLDER] = folder
  return async () => {
    const files = await vitest.globTestSpecifications()
    const isWhole = vitest.state.getFiles().length === files.length && vitest.config.testNamePattern === undefined
    const left = isWhole || kept !== undefined ? unseen(folder) : []
    if (kept === undefined) rmSync(folder, { recursive: true })
    if (left.length === 0) return
    // A run in parts goes on in the same folder, and is whole at its end only.
    if (!isWhole) return console.log(unseenSentence(left))
    // Vitest only logs what a teardown throws.
    process.exitCode = 1
    throw new Error(unseenSentence(left))
  }
}
