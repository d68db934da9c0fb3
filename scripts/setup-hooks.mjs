// `npm run setup-hooks`: from then on git runs scripts/hooks/pre-commit before each commit in this clone.
// `npm run setup-hooks -- --remove` takes it away again.
import { spawnSync } from 'node:child_process'
import { root } from './prepare.mjs'
import { giveUp, say } from './say.mjs'
import { takeWords } from './words.mjs'

const remove = takeWords('npm run setup-hooks', ['--remove']).length > 0
const args = remove ? ['--unset', 'core.hooksPath'] : ['core.hooksPath', 'scripts/hooks']
const git = spawnSync('git', ['config', '--local', ...args], { cwd: root, stdio: 'inherit' })
// Git answers 5 when there is nothing to unset.
if (git.status !== 0 && !(remove && git.status === 5)) giveUp('git config failed, see above.')
say(remove ? 'Commits are no longer checked.' : 'Each commit now runs `npm run check -- --staged` first.')
