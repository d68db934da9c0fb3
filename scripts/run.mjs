// `npm run producer|worker|simulator|cli`: one part by itself, in this very process, after the same set-up as `npm start`.
import { prepareBuild } from './prepare.mjs'
import { refuseWords, SETTINGS, takeWords } from './words.mjs'

const PARTS = {
  producer: 'start/producer.js',
  worker: 'start/worker.js',
  simulator: 'simulator/main.js',
  cli: 'cli.js',
}

const [part] = process.argv.splice(2, 1)
const entry = PARTS[part]
if (entry === undefined) refuseWords(`run.mjs takes one of ${Object.keys(PARTS).join(', ')}, got ${part ?? 'nothing'}.`)
// The command line reads its own.
if (part !== 'cli') takeWords(`npm run ${part}`, [], SETTINGS)
prepareBuild()
await import(new URL(`../dist/${entry}`, import.meta.url).href)
