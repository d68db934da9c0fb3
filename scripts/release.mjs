// `npm run release -- 0.2.0`: dates the changelog, sets the version of the service and its client, commits, tags, packs
// the client and writes the bill of materials. Changes nothing outside this clone: pushing and publishing are a person's
// last step, and the script prints the commands.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { giveUp, root } from './prepare.mjs'

const [version = '', ...rest] = process.argv.slice(2)
if (rest.length > 0 || !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
  giveUp('npm run release takes a version, for example: npm run release -- 0.2.0', 2)
if (run('git', 'status', '--porcelain') !== '') giveUp('The working tree has changes: commit or stash them first.')
if (run('git', 'tag', '--list', `v${version}`) !== '') giveUp(`The tag v${version} exists already.`)

const changelog = join(root, 'CHANGELOG.md')
const text = readFileSync(changelog, 'utf8')
const unreleased = /## Unreleased\n([\s\S]*?)(?=\n## |$)/.exec(text)?.[1]?.trim()
if (!unreleased) giveUp('CHANGELOG.md has nothing under "## Unreleased": there is nothing to release.')
run('npm', 'run', '--silent', 'check')

const today = new Date().toISOString().slice(0, 10)
writeFileSync(changelog, text.replace('## Unreleased\n', `## Unreleased\n\n## ${version} - ${today}\n`))
run('npm', 'version', '--no-git-tag-version', '--workspaces', '--include-workspace-root', version)
run('git', 'commit', '--all', '--message', `Release ${version}`)
run('git', 'tag', '--annotate', `v${version}`, '--message', `Laneway ${version}`)
// The bill of materials: CycloneDX, of what production installs.
const sbom = `laneway-${version}.cdx.json`
writeFileSync(join(root, sbom), `${run('npm', 'sbom', '--omit=dev', '--sbom-format=cyclonedx')}\n`)
const packed = run('npm', 'pack', '--silent', '--workspace', 'laneway-client')
console.error(`Committed and tagged v${version}; packed ${packed.split('\n').at(-1)} and ${sbom}.`)
console.error('Publish it with: git push --follow-tags')

/** Runs a command in the root and returns what it printed; ends the script when the command fails. */
function run(command, ...args) {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  if (done.status !== 0) giveUp(`${command} ${args.join(' ')} failed, see above.`)
  return done.stdout.trim()
}
