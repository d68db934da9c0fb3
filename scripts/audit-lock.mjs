// `npm run audit:lock`: holds every package of package-lock.json against the advisories of the registry. Exits with 1 for
// one of severity high or critical, and with 2, saying so, where the advisories cannot be reached: that is no clean bill.
import { spawnSync } from 'node:child_process'
import { root } from './prepare.mjs'
import { takeWords } from './words.mjs'

takeWords('npm run audit:lock')
const SEVERE = ['high', 'critical']
const say = (line) => process.stdout.write(`${line}\n`)

const run = spawnSync('npm', ['audit', '--json', '--package-lock-only'], {
  cwd: root,
  encoding: 'utf8',
  timeout: 120_000,
  maxBuffer: 64 * 1024 * 1024,
})
const report = parsed(run.stdout)
if (report?.metadata?.vulnerabilities === undefined) {
  const why = report?.message ?? report?.error?.summary ?? lastLine(run.stderr) ?? 'no answer within 120 s'
  say(`Not checked: the advisories cannot be reached (${why}).`)
  process.exit(2)
}
const found = Object.values(report.vulnerabilities ?? {})
for (const { name, severity, range, via } of found) {
  const titles = via.filter((each) => typeof each === 'object').map(({ title, url }) => `${title} (${url})`)
  say(`${severity}  ${name} ${range}  ${titles.join('; ')}`)
}
const severe = found.filter(({ severity }) => SEVERE.includes(severity)).length
say(
  `${report.metadata.dependencies?.total ?? 'All'} packages checked: ${found.length} with advisories, ${severe} of them severe.`,
)
process.exit(severe > 0 ? 1 : 0)

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function lastLine(text) {
  return text?.trim().split('\n').at(-1)
}
