// Builds Laneway before a run of tests.
import { spawnSync } from 'node:child_process'

/** Builds dist/ once per run, because the process tests start the compiled files as their users do. */
export default function setUp(): void {
  const build = spawnSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' })
  if (build.status !== 0) throw new Error('the build failed, see above')
}
