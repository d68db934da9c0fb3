// `npm run prove`
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRandom } from './random.ts'
import { workerKills } from './scenarios/worker-kill.ts'

const place = fileURLToPath(new URL('../..', import.meta.url))
const seed = Number(process.argv[2] ?? 1)
for (const scenario of workerKills.filter((s) => !process.argv[3] || s.name.includes(process.argv[3]))) {
  const folder = join(place, scenario.name)
  mkdirSync(folder)
  console.log(folder)
  const t = performance.now()
  const f = await scenario.run({
    seed,
    random: createRandom(seed, scenario.name),
    build: join(place, 'dist'),
    folder,
    full: false,
    say: (l) => console.log(scenario.name, l),
  })
  console.log(performance.now() - t)
  if ('judgement' in f)
    console.log(JSON.stringify({ ...f, judgement: { ...f.judgement, flagged: f.judgement.flagged.length } }, null, 1))
}
process.exit(0)
