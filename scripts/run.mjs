// `npm start`, `npm run producer|worker|simulator|cli`: makes a fresh clone runnable, then runs one program in this very
// process, so that signals to npm reach it and nothing is between them.
import { giveUp, prepareBuild } from './prepare.mjs'
import { prepareRedis } from './system-packages.mjs'

const PROGRAMS = {
  start: 'demo/start.js',
  producer: 'start/producer.js',
  worker: 'start/worker.js',
  simulator: 'simulator/main.js',
  cli: 'cli.js',
}

const [name, ...words] = process.argv.slice(2)
const program = PROGRAMS[name]
if (program === undefined) giveUp(`run.mjs takes one of ${Object.keys(PROGRAMS).join(', ')}, got ${name}.`, 2)
// The command line reads its own.
if (name === 'cli') process.argv.splice(2, 1)
else if (words.length > 0) giveUp(`It takes no '${words[0]}': settings come from the environment, see .env.example.`, 2)
prepareBuild()
if (name === 'start' && !process.env.REDIS_URL) prepareRedis()
await import(new URL(`../dist/${program}`, import.meta.url).href)
