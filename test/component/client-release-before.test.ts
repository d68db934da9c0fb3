// Pins: today's client works against the release before, over HTTP and through the intake queue. What that release
// answered is on tapes in test/fixtures/release-before: the client plays one story against them, may ask nothing that
// the release was never asked, and must make the same of its answers. test/fixtures/README.md says how tapes are made.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectLaneway, type Laneway, LanewayError } from '../../packages/client/src/index.ts'
import { newDataDir, startLaneway } from '../support/laneway.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import {
  type Answerer,
  answerFrom,
  KEY,
  noting,
  passOn,
  serveHttp,
  serveIntake,
  type Tape,
  tapeSchema,
} from '../support/release-before.ts'

type Way = 'over HTTP' | 'through the intake queue'
const TAPES: [Way, string][] = [
  ['over HTTP', 'test/fixtures/release-before/http.json'],
  ['through the intake queue', 'test/fixtures/release-before/intake.json'],
]
/** A checkout of that release, built. With it the tapes are made instead of played. */
const checkout = process.env.LANEWAY_RELEASE_BEFORE
const COMMIT = process.env.LANEWAY_RELEASE_BEFORE_COMMIT ?? 'unknown'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

/** Starts the stand-in for one way; `connect` opens a client on it with any key. */
async function standIn(way: Way, answer: Answerer) {
  const open: Laneway[] = []
  const http = way === 'over HTTP' ? await serveHttp(answer) : undefined
  const intake = http ? undefined : serveIntake(redis.url, answer)
  return {
    async connect(apiKey: string): Promise<Laneway> {
      const laneway = await connectLaneway(http ? { url: http.url, apiKey } : { redisUrl: redis.url, apiKey })
      open.push(laneway)
      return laneway
    },
    async close() {
      await Promise.all(open.map((laneway) => laneway.close()))
      await (http ?? intake)?.close()
    },
  }
}

/** What came of a call: its result, or what it was rejected with. */
const told = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (result) => result ?? null,
    (error: unknown) => {
      if (!(error instanceof LanewayError)) throw error
      return { rejected: error.name, message: error.message, ...('code' in error ? { code: error.code } : {}) }
    },
  )

/** Every call that a client has, in one order and with the same values each time. */
async function playStory(connect: (apiKey: string) => Promise<Laneway>, { sender, tag }: Tape['given'], n: number) {
  const laneway = await connect(KEY)
  const { campaigns } = laneway
  const story: unknown[] = []
  const tell = async (work: Promise<unknown>) => void story.push(await told(work))
  const key = (name: string) => ({ idempotencyKey: `${name}-${n}` })
  const image = (to: string) => ({ to, type: 'image' as const, image: { link: 'https://shop.example/a.jpg' } })
  const components = [
    {
      type: 'HEADER' as const,
      parameters: [{ type: 'VIDEO' as const, video: { link: 'https://shop.example/clip.mp4' } }],
    },
  ]
  const template = { name: 'clip', language: { code: 'en_US' }, components }

  const id = await laneway.send(image(`+44770090010${n}`), key('order'))
  story.push(id)
  await tell(laneway.send(image(`+44770090010${n}`), key('order')))
  await tell(laneway.waitForOutcome(id))
  await tell(laneway.status(id))
  await tell(laneway.send({ to: `+44770090011${n}`, type: 'template', sender, template }, key('template')))
  await tell(laneway.send({ to: '12', type: 'image', image: { link: 'nowhere' } }, key('wrong')))
  await tell(laneway.status('msg_1_01ARZ3NDEKTSV4RRFFQ69G5FAV'))
  const many = [`+44770090012${n}`, '+15550100101'].map((to, i) => ({ message: image(to), ...key(`many-${i}`) }))
  await tell(laneway.sendMany(many))
  await tell((await connect('WRONG')).send(image('+447700900131'), key('nobody')))

  const definition = { name: 'Spring', sender, template, recipients: { tags: [tag] } }
  const campaign = await campaigns.create(definition, key('spring'))
  story.push(campaign)
  await tell(campaigns.show(campaign))
  await tell(campaigns.start(campaign))
  await tell(campaigns.preflight(campaign))
  await tell(campaigns.waitFor(campaign, ['ready', 'blocked']))
  await tell(campaigns.schedule(campaign, new Date('2000-01-01T00:00:00Z')))
  await tell(campaigns.start(campaign))
  await tell(campaigns.pause(campaign, { reason: 'lunch' }))
  await tell(campaigns.resume(campaign))
  await tell(campaigns.waitFor(campaign, ['done']))
  const other = await campaigns.create({ ...definition, name: 'Summer' }, key('summer'))
  await tell(campaigns.cancel(other))
  await tell(campaigns.waitFor(other, ['done']))
  return story
}

test.skipIf(checkout !== undefined).each(TAPES)(
  'every call %s is understood, and so is its answer',
  async (way, file) => {
    const tape = tapeSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    const { answer, unheard } = answerFrom(tape.exchanges)
    const service = await standIn(way, answer)
    try {
      const story = await playStory(service.connect, tape.given, way === 'over HTTP' ? 1 : 2)
      expect(unheard).toEqual([])
      expect(JSON.parse(JSON.stringify(story))).toEqual(tape.told)
    } finally {
      await service.close()
    }
  },
)

test.skipIf(checkout === undefined)('makes the tapes', { timeout: 300_000 }, async () => {
  const script = join(checkout ?? '', 'scripts/start.mjs')
  expect(existsSync(script)).toBe(true)
  const { dataDir, remove } = newDataDir()
  const { demo } = await startLaneway(dataDir, {}, [process.execPath, script])
  const release = passOn({ url: demo.base_url, redisUrl: demo.redis_url, apiKey: demo.api_key })
  try {
    for (const [n, [way, file]] of TAPES.entries()) {
      const { answer, exchanges } = noting(release.answer)
      const service = await standIn(way, answer)
      const given = { sender: demo.sender, tag: demo.tag_ids[0] ?? 0 }
      const story = await playStory(service.connect, given, n + 1)
      await service.close()
      writeFileSync(file, `${JSON.stringify({ release: COMMIT, given, exchanges, told: story }, undefined, 2)}\n`)
    }
  } finally {
    await release.close()
    await remove()
  }
})
