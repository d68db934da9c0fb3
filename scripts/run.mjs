// `npm run producer|worker|simulator|cli`: one part by itself, in this very process, after the same set-up as `npm start`.
import { prepareBuild } from './prepare.mjs'
import { giveUp } from './say.mjs'

const PARTS = {
  producer: 'start/producer.js',
  worker: 'start/worker.js',
  simulator: 'simulator/main.js',
  cli: 'cli.js',
}

const [part] = process.argv.splice(2, 1)
const entry = PARTS[part]
if (entry === undefined) giveUp(`run.mjs takes one of ${Object.keys(PARTS).join(', ')}, got ${part ?? 'nothing'}.`)
prepareBuild()
await import(new URL(`../dist/${entry}`, import.meta.url).href)
