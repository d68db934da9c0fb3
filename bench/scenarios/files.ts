// A campaign whose list of recipients is in a bucket against one whose list is in the data folder, in turns: how long the
// check takes, which writes the list, and how fast the messages are sent, which reads it. The bucket is a real S3 server
// on the same machine, whose work the campaign has to share it with.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { S3_KEYS, startS3Server } from '../../test/testbed/s3-server.ts'
import type { Bench } from '../bench.ts'
import { createCampaign, fillTag, show, start } from '../campaign.ts'
import { sinkGets, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const PEOPLE = { full: 1_000_000, small: 20_000 }
const WARM_UP = 2_000

interface Round {
  /** Seconds of the check, and messages a second from the start to the end of the campaign. */
  check: number
  rate: number
}

/** Checking and sending a campaign with its list in a bucket, against the folder. */
export async function files(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, profile, progress } = bench
  const people = bench.people ?? PEOPLE[bench.full ? 'full' : 'small']
  if (spawnSync('swift-proxy-server', ['--help']).error) {
    bench.say('There is no Swift here: npm run test:servers installs it.')
    return []
  }
  const s3 = await startS3Server(join(dir, 'swift'))
  closing.add(() => s3.close())
  const bucket = `s3://${s3.bucket}/bench?endpoint=${s3.endpoint}&path_style=true`
  const started = async (name: string, settings: Record<string, string>) => {
    const laneway = await startLaneway(rig, `${dir}/${name}`, closing, { settings, profile })
    const tags = new Map<number, number>()
    for (const count of [WARM_UP, people]) {
      tags.set(count, await fillTag(laneway, count, (done) => progress(`${name}: ${done} contacts`)))
    }
    return { name, laneway, tags, rounds: [] as Round[] }
  }
  const contenders = [await started('bucket', { ...S3_KEYS, LANEWAY_FILES_URL: bucket }), await started('folder', {})]
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const { name, laneway, tags, rounds } of contenders) {
      progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${name}`)
      const count = round === 0 ? WARM_UP : people
      const measured = await measure(bench, laneway, tags.get(count) ?? 0, count)
      if (round > 0) rounds.push(measured)
    }
  }
  const [ours = [], theirs = []] = contenders.map(({ rounds }) => rounds)
  const figure = (what: string, unit: string, spread: ReturnType<typeof spreadOf>): Figure => ({
    scenario: 'files',
    what,
    value: spread.median,
    unit,
    spread,
  })
  const ratio = (readingOf: (round: Round) => number) => ratioOf(ours.map(readingOf), theirs.map(readingOf))
  return [
    { scenario: 'files', what: 'recipients', value: people, unit: '' },
    ...contenders.flatMap(({ name, rounds }) => [
      figure(`${name}, check`, 's', spreadOf(rounds.map(({ check }) => check))),
      figure(`${name}, whole campaign`, '/s', spreadOf(rounds.map(({ rate }) => rate))),
    ]),
    figure(
      'bucket / folder, check',
      'x',
      ratio(({ check }) => check),
    ),
    withGoal(
      figure(
        'bucket / folder, whole campaign',
        'x',
        ratio(({ rate }) => rate),
      ),
      '>= 0.9',
    ),
  ]
}

async function measure({ rig }: Bench, laneway: Laneway, tag: number, people: number): Promise<Round> {
  const sender = laneway.traffic.kind === 'message' ? (laneway.traffic.senders[0] ?? '') : ''
  const begunAt = performance.now()
  const id = await createCampaign(laneway, sender, tag)
  const startedAt = performance.now()
  await watchSink(rig)
  await start(laneway, id)
  await sinkGets(rig, people)
  await until('the campaign is done', 60_000, async () => (await show(laneway, id)).state === 'done')
  return { check: (startedAt - begunAt) / 1_000, rate: (people * 1_000) / (performance.now() - startedAt) }
}
