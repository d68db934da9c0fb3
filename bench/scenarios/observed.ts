// What it costs that metrics and counts are kept of every message, and that messages can be searched: the service beside
// a copy of it from which the observers and the index of messages were taken out, in one run. Single messages are
// accepted with the workers held back; then they are sent.
import { fileURLToPath } from 'node:url'
import { type Alteration, alteredBuild } from '../../test/testbed/altered-build.ts'
import { type Bench, compare } from '../bench.ts'
import { acceptAndSend } from '../held-back.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { dist } from '../part.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const SCENARIO = 'observed'
const CONNECTIONS = 64
const AT_LEAST = 0.95

/** What takes the observers and the index away. */
export const UNOBSERVED: readonly Alteration[] = [
  { file: 'redis/observe.js', find: 'observers.get(redis) ?? nobody', replace: 'nobody' },
  {
    file: 'lanes/add-messages.js',
    find: 'areNew ? messages.map(indexedOf)',
    replace: 'false ? messages.map(indexedOf)',
  },
]

const KINDS = [
  { name: 'observed', alterations: [] },
  { name: 'without', alterations: UNOBSERVED },
]

/** Accepting and sending, with metrics, counts and index, against without. */
export async function observed(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const contenders: Laneway[] = []
  for (const { name, alterations } of KINDS) {
    // Beside dist/, where what it imports is found.
    const build = alteredBuild(fileURLToPath(dist), fileURLToPath(new URL(`../${name}/dist`, dist)), ...alterations)
    const options = { build, profile: bench.profile }
    contenders.push({ ...(await startLaneway(rig, `${dir}/${name}`, closing, options)), name })
  }
  const { accepting, sendingUs: sendUs } = await acceptAndSend(bench, contenders, CONNECTIONS)
  const names = KINDS.map(({ name }) => name)
  const [own = [], without = []] = sendUs
  const sending = sendUs.map((rounds, at): Figure => {
    const spread = spreadOf(rounds)
    return { scenario: SCENARIO, what: `${names[at]}, CPU per message sent`, value: spread.median, unit: 'us', spread }
  })
  // As a speed: the less CPU time, the faster.
  const spread = ratioOf(without, own)
  const what = 'observed / without, sending by CPU time'
  const ratio = withGoal({ scenario: SCENARIO, what, value: spread.median, unit: 'x', spread }, `>= ${AT_LEAST}`)
  return [...compare(SCENARIO, names, accepting, { without: AT_LEAST }), ...sending, ratio]
}
