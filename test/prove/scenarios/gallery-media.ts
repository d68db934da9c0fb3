// One picture of the gallery to very many people, from several numbers and by several workers, at a WhatsApp that every server
// refuses when it fetches a link: one upload for each number, no request to our own gallery, and nobody fails. A campaign with a
// link, at the end, shows that the refusals are real.
import { createServer } from 'node:http'
import { join } from 'node:path'
import { z } from 'zod'
import { findSender } from '../../../src/accounts/senders.ts'
import { importTemplate } from '../../../src/accounts/templates.ts'
import { receive } from '../../../src/files/drafts.ts'
import { openFolder } from '../../../src/files/folder.ts'
import { addFile } from '../../../src/gallery/files.ts'
import { createFolder } from '../../../src/gallery/folders.ts'
import { templateSchema } from '../../../src/model/templates/template.ts'
import { listen } from '../../testbed/free-port.ts'
import { describeCampaign, isCampaignDone, judgeCampaign, postCampaign, readyCampaign } from '../campaign.ts'
import type { Judgement } from '../checker.ts'
import { getJson, postJson } from '../http.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, untilDone } from '../scenario.ts'
import type { Tenant } from '../tenant.ts'
import { eventually } from '../wait.ts'

const NUMBERS = 4
const WORKERS = 3
const PEOPLE = 1_000
const FULL_PEOPLE = 1_000_000
/** Single messages of each number that all ask for the picture at once, before it is uploaded. */
const SINGLES = 50
/** People of the campaign with a link. */
const LINKED = 20
const TEMPLATE = 'proof_picture'
const TENANT = { wire: 'cloud-api', policy: 'at_most_once', campaign: true } as const
/** Ranges of recipients have 100,000; these are far from those of the campaigns. */
const SINGLES_RANGE = 50
const LINKED_RANGE = 60

export const galleryMedia: Scenario = {
  name: 'gallery-media',
  promise:
    'A picture of the gallery is uploaded once for each number, whoever sends it how often, and no link is fetched.',
  async run(run) {
    // Where links to our own gallery would lead.
    let fetches = 0
    const gallery = createServer((_request, response) => {
      fetches += 1
      response.writeHead(429).end()
    })
    const env = { LANEWAY_PUBLIC_URL: `http://127.0.0.1:${await listen(gallery)}`, LANEWAY_MAX_IN_FLIGHT: '200' }
    try {
      return await onRig(run, { tenants: Array(NUMBERS).fill(TENANT), workers: WORKERS, producers: 2, env }, (rig) =>
        play(rig, run, () => fetches),
      )
    } finally {
      gallery.close()
    }
  },
}

async function play(rig: Rig, run: Run, fetchesOfGallery: () => number): Promise<Finding> {
  await rig.chatProduct.control({ links_refused: true })
  const pictures = new Map<Tenant, number>()
  for (const tenant of rig.tenants) pictures.set(tenant, await addPicture(rig, tenant))
  const singles = await Promise.all(rig.tenants.map((tenant, i) => sendSingles(rig, tenant, pictures.get(tenant), i)))

  const violations: string[] = []
  const each = (run.full ? FULL_PEOPLE : PEOPLE) / NUMBERS
  const campaigns = []
  for (const [i, tenant] of rig.tenants.entries()) {
    const people = recipientsOf(i * Math.ceil(each / 100_000), each)
    const of = { ...rig, tenant }
    const more = withPicture({ gallery: String(pictures.get(tenant)) })
    const id = await readyCampaign(of, people, { list: 'everybody', more })
    campaigns.push({ of, id, people })
  }
  const began = performance.now()
  for (const { of, id } of campaigns) await postCampaign(of, `/${id}/start`)
  await untilAllDone(campaigns, run, violations)
  const seconds = (performance.now() - began) / 1_000

  const ledger = await rig.chatProduct.ledger()
  const judgements = []
  let failed = 0
  for (const { of, id, people } of campaigns) {
    const theirs = new Set(people)
    const isTheirs = ({ to }: { to: string }) => theirs.has(to)
    judgements.push(await judgeCampaign(of, run, id, people, { flagsEarned: 0, violations, isTheirs }))
    failed += (await describeCampaign(of, id)).shares.get('failed') ?? 0
  }
  failed += await failedSingles(rig, singles.flat())

  const uploads = await uploadsOf(rig)
  const idOf = new Map(uploads.map(({ sender, id }) => [sender, id]))
  const others = ledger.filter(({ media, sender }) => media.length !== 1 || media[0] !== idOf.get(sender ?? ''))
  const most = Math.max(...rig.tenants.map(({ phoneNumberId }) => countOf(uploads, phoneNumberId)))
  const linked = await sendLinked(rig, run, violations)
  return {
    judgement: inOne(judgements),
    figures: [
      { what: `messages with one picture, from ${NUMBERS} numbers`, value: ledger.length, unit: '' },
      { what: 'uploads of a number, most', value: most, unit: '', atMost: 1, atLeast: 1 },
      { what: 'uploads in all', value: uploads.length, unit: '', atMost: NUMBERS, atLeast: NUMBERS },
      { what: 'requests to our own gallery', value: fetchesOfGallery(), unit: '', atMost: 0 },
      { what: 'failed with gallery', value: failed, unit: 'messages', atMost: 0 },
      { what: 'not sent by the id of the upload', value: others.length, unit: 'messages', atMost: 0 },
      { what: `failed with a link, of ${LINKED}`, value: linked.failed, unit: 'messages', atLeast: 1 },
      { what: 'sent with a link and not refused', value: linked.others, unit: 'messages', atMost: 0 },
      { what: 'sent', value: (each * NUMBERS) / seconds, unit: 'messages/s' },
    ],
    violations,
  }
}

function inOne(all: readonly Judgement[]): Judgement {
  const sum = (of: (each: Judgement) => number): number => all.reduce((total, each) => total + of(each), 0)
  return {
    accepted: sum(({ accepted }) => accepted),
    inLedger: sum(({ inLedger }) => inLedger),
    lostSilently: all.flatMap(({ lostSilently }) => lostSilently),
    sentTwiceSilently: all.flatMap(({ sentTwiceSilently }) => sentTwiceSilently),
    sentTwice: all.flatMap(({ sentTwice }) => sentTwice),
    flagged: all.flatMap(({ flagged }) => flagged),
    unearned: all.some(({ unearned }) => unearned),
    invented: all.flatMap(({ invented }) => invented),
    contradictions: all.flatMap(({ contradictions }) => contradictions),
    unsettled: all.flatMap(({ unsettled }) => unsettled),
    violations: all.flatMap(({ violations }) => violations),
  }
}

const withPicture = (image: object) => ({
  template: {
    name: TEMPLATE,
    language: { code: 'en_US' },
    components: [{ type: 'HEADER', parameters: [{ type: 'image', image }] }],
  },
})

/** The same picture in the gallery of each account, as a template of it shows it. Returns the file's id. */
async function addPicture(rig: Rig, { lane }: Tenant): Promise<number> {
  const account = (await findSender(rig.store, lane))?.account ?? 0
  const template = {
    ...{ name: TEMPLATE, category: 'MARKETING', language: 'en_US', status: 'APPROVED' },
    components: [
      { type: 'HEADER', format: 'IMAGE' },
      { type: 'BODY', text: 'News.' },
    ],
  }
  await importTemplate(rig.store, account, templateSchema.parse(template))
  const files = openFolder(join(rig.folder, 'data'))
  const folder = await createFolder(rig.store, account, { name: 'Pictures' })
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex')
  const draft = await receive(files, [head, Buffer.alloc(1_000_000)])
  return (await addFile(rig.store, files, account, folder.id, 'picture.png', draft)).id
}

interface Single {
  tenant: Tenant
  id: string
}
const acknowledged = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })

async function sendSingles(rig: Rig, tenant: Tenant, picture: number | undefined, i: number): Promise<Single[]> {
  const url = `${rig.liveProducer()}/sendservicemessages/sendmessages`
  const people = recipientsOf(SINGLES_RANGE + i, SINGLES)
  return Promise.all(
    people.map(async (to) => {
      const body = {
        ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', to: `+${to}` },
        ...{ type: 'image', image: { gallery: String(picture) } },
      }
      const answer = await postJson(url, body)
      if (answer.status !== 200) throw new Error(`a single message: ${JSON.stringify(answer)}`)
      return { tenant, id: acknowledged.parse(answer.body).messages[0].id }
    }),
  )
}

const shown = z.object({ data: z.object({ state: z.string() }) })

async function failedSingles(rig: Rig, singles: readonly Single[]): Promise<number> {
  let open = [...singles]
  const arrived = async ({ tenant, id }: Single): Promise<boolean> => {
    const authorization = `Bearer ${tenant.apiKey}`
    const answer = await getJson(`${rig.liveProducer()}/messages/${id}`, { authorization })
    return answer.status === 200 && ['delivered', 'read'].includes(shown.parse(answer.body).data.state)
  }
  const all = async (): Promise<boolean> => {
    const are = await Promise.all(open.map(arrived))
    open = open.filter((_single, i) => !are[i])
    return open.length === 0
  }
  await eventually(all, 60_000, 500)
  return open.length
}

const uploadSchema = z.array(z.object({ id: z.string(), sender: z.string() }))

async function uploadsOf(rig: Rig) {
  const answer = await getJson(`${rig.chatProduct.url}/_uploads`)
  if (answer.status !== 200) throw new Error(`uploads: ${JSON.stringify(answer)}`)
  return uploadSchema.parse(answer.body)
}

const countOf = (uploads: readonly { sender: string }[], phoneNumberId: string): number =>
  uploads.filter(({ sender }) => sender === phoneNumberId).length

async function untilAllDone(
  campaigns: readonly { of: Rig; id: string }[],
  run: Run,
  violations: string[],
): Promise<void> {
  const limitMs = run.full ? 3 * 3_600_000 : run.quiescenceLimitMs
  const told = run.full ? setInterval(() => void rigCount(campaigns, run), 60_000) : undefined
  for (const { of, id } of campaigns) {
    await untilDone(run, violations, `${id} is not done in time`, () => isCampaignDone(of, id), limitMs)
  }
  clearInterval(told)
}

async function rigCount([first]: readonly { of: Rig }[], run: Run): Promise<void> {
  const count = await first?.of.chatProduct.count().catch(() => undefined)
  run.say(`${count} messages taken`)
}

/**
 * How many of a campaign with a link fail, and how many are neither refused nor left: a campaign whose picture cannot be fetched is paused
 * for that, on a slow machine before all of its messages have gone.
 */
async function sendLinked(rig: Rig, run: Run, violations: string[]): Promise<{ failed: number; others: number }> {
  const people = recipientsOf(LINKED_RANGE, LINKED)
  const more = withPicture({ link: 'https://shop.example/picture.png' })
  const id = await readyCampaign(rig, people, { list: 'linked', more })
  await postCampaign(rig, `/${id}/start`)
  const isOver = async (): Promise<string | true> => {
    const { state, shares } = await describeCampaign(rig, id)
    return state === 'done' || state === 'paused' || [...shares].join()
  }
  await untilDone(run, violations, `${id} neither ends nor is paused`, isOver)
  const counted = async () => {
    const { shares } = await describeCampaign(rig, id)
    const failed = shares.get('failed') ?? 0
    return { failed, others: LINKED - failed - (shares.get('queued') ?? 0) }
  }
  await eventually(async () => (await counted()).others === 0, 20_000, 250)
  return counted()
}
