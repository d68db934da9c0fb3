// Files of a worker share its modules (vitest.config.ts): what a process has once, and a file has set, is over with that file. Left behind,
// it would change what the next file writes into its Redis.
import { afterAll } from 'vitest'
import { useDataKeys } from '../../src/kernel/sealed.ts'
import { useOptOutSecrets } from '../../src/people/opt-outs/erased.ts'

afterAll(() => {
  useDataKeys([])
  useOptOutSecrets(() => {
    throw new Error('no secrets are set')
  })
})
