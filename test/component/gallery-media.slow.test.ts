// Pins: a message names a file of the gallery, which is uploaded once for each sender, again when WhatsApp has lost it, and never
// makes a message fail that could be sent. Real: Redis, HTTP, the disk, producer, worker, simulator.
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { trashFile } from '../../src/gallery/files.ts'
import { holdUpload } from '../../src/gallery/uploads.ts'
import { errorOf } from '../support/api-error.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { acknowledgedId, reaches } from '../support/messages.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { uploadLeaseOf } from '../support/state/messages.ts'
import { addToGallery, control, pngWith, uploadsOf } from '../support/uploads.ts'
import { eventually } from '../support/wait.ts'

const SERVICE = '/sendservicemessages/sendmessages'
const PICTURE = {
  name: 'picture',
  category: 'MARKETING',
  language: 'en_US',
  status: 'APPROVED',
  components: [
    { type: 'HEADER', format: 'IMAGE' },
    { type: 'BODY', text: 'Dear {{1}}' },
  ],
}
const CARDS = {
  name: 'cards',
  category: 'UTILITY',
  language: 'en_US',
  status: 'APPROVED',
  components: [
    { type: 'BODY', text: 'Look' },
    {
      type: 'CAROUSEL',
      cards: [
        { components: [{ type: 'HEADER', format: 'IMAGE' }] },
        { components: [{ type: 'HEADER', format: 'IMAGE' }] },
      ],
    },
  ],
}

let service: CampaignService
beforeAll(async () => {
  const env = { LANEWAY_MAX_TRIES: '2' }
  service = await startCampaigns({ templates: [PICTURE, CARDS], provider: 'cloud-api', rate: 1_000, env })
})
afterAll(() => service?.close())
beforeEach(() =>
  control(service, {
    uploads_refused_with: null,
    upload_delay_ms: 0,
    links_refused: false,
    media_lasts_ms: 86_400_000,
  }),
)

const detailsOf = (json: unknown) => errorOf({ json }).details
let made = 0
const newPicture = (account = service.tenant.account) => addToGallery(service, account, pngWith(`picture ${++made}`))
const send = (type: string, content: object, more: object = {}) =>
  service.post(SERVICE, {
    ...{ api_key: service.tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual' },
    ...{ to: '+491700000001', type, [type]: content, ...more },
  })
const sentWith = async (type: string, content: object, more: object = {}) =>
  acknowledgedId(await send(type, content, more))
const shape = z.object({
  data: z.looseObject({
    state: z.string(),
    problem: z.object({ code: z.string(), sentence: z.string() }).nullable(),
    waits: z.looseObject({ why: z.string(), until: z.string().nullable(), sentence: z.string() }).nullable(),
    history: z.array(z.looseObject({ event: z.string() })),
  }),
})
async function shown(id: string) {
  return shape.parse((await service.request('GET', `/messages/${id}`)).json()).data
}
const idsOf = async (sha256: string): Promise<string[]> =>
  (await uploadsOf(service)).filter((each) => each.sha256 === sha256).map(({ id }) => id)
/** The ids of files in the ledger's line of a message. */
async function mediaOf(id: string): Promise<readonly string[] | undefined> {
  const lines = await readLedger(service.simulator.url)
  return lines.find(({ opaque }) => opaque?.startsWith(`v1.${id}.`))?.media
}

describe('a request', () => {
  test.each<[string, object, string]>([
    [
      'two sources',
      { link: 'https://a.example/b.png', gallery: '1' },
      'expected one of link, id and gallery, got link and gallery',
    ],
    ['an id that is none', { gallery: 'spring' }, 'expected the id of a file of the gallery, got "spring"'],
  ])('with %s is refused', async (_what, image, message) => {
    const answer = await send('image', image)
    expect([answer.status, detailsOf(answer.body)[0]?.message]).toEqual([400, message])
  })

  test('for a file that does not exist, is in the trash or belongs to another account gets the same answer', async () => {
    const other = await service.addTenant()
    const theirs = await newPicture(other.account)
    const trashed = await newPicture()
    await trashFile(service.redis, service.tenant.account, trashed.id)
    for (const id of [999_999, theirs.id, trashed.id]) {
      const answer = await send('image', { gallery: id })
      expect([answer.status, errorOf({ json: answer.body }).code]).toEqual([400, 'invalid_request'])
      expect(detailsOf(answer.body)).toEqual([
        { path: 'image.gallery', message: `there is no file ${id} in the gallery` },
      ])
    }
  })

  test('for a file as another kind, or of a type that WhatsApp never accepts, is 400 with the reason', async () => {
    const { id } = await newPicture()
    const zip = await addToGallery(service, service.tenant.account, Buffer.from('504b0304140000000800', 'hex'), 'a.zip')
    const large = await addToGallery(service, service.tenant.account, pngWith('large', 5 * 1024 * 1024), 'large.png')
    const reason = async (type: string, file: number) =>
      detailsOf((await send(type, { gallery: file })).body)[0]?.message
    expect(await reason('video', id)).toBe('Files of type image/png are sent as image, not as video')
    expect(await reason('document', zip.id)).toMatch(/^WhatsApp takes no files of type /)
    expect(await reason('image', large.id)).toMatch(/^Too large with 5.1 MB/)
  })

  test('of a sender whose provider takes no uploads is refused when the file has no public address', async () => {
    const { id } = await newPicture()
    const answer = await send('image', { gallery: id }, { sender: service.tenant.partnerNumber })
    expect(errorOf({ json: answer.body }).code).toBe('not_supported_by_provider')
    expect(detailsOf(answer.body)[0]?.message).toContain('LANEWAY_PUBLIC_URL')
    const byId = await send('image', { id: '123' }, { sender: service.tenant.partnerNumber })
    expect(errorOf({ json: byId.body }).code).toBe('not_supported_by_provider')
  })
})

test('many messages with one picture need one upload, and each of them has its id', async () => {
  const { id, hash } = await newPicture()
  const messages = await Promise.all(
    Array.from({ length: 20 }, () => sentWith('image', { gallery: String(id), caption: 'Spring' })),
  )
  for (const message of messages) await reaches(service, service.tenant, message, 'read', 20_000)
  const uploads = await idsOf(hash)
  expect(uploads).toHaveLength(1)
  expect(await Promise.all(messages.map(mediaOf))).toEqual(messages.map(() => uploads))
})

test('a header, a template, each card and a document accept files of the gallery; a link stays as it is', async () => {
  const [first, second] = [await newPicture(), await newPicture()]
  const pdf = await addToGallery(service, service.tenant.account, Buffer.from('%PDF-1.4\n%âãÏÓ\n'), 'Offer.pdf')
  const button = await sentWith('interactive', {
    type: 'button',
    header: { type: 'image', image: { gallery: first.id } },
    body: { text: 'Yes?' },
    action: { buttons: [{ type: 'reply', reply: { id: 'y', title: 'Yes' } }] },
  })
  const document = await sentWith('document', { gallery: pdf.id })
  const link = await sentWith('image', { link: 'https://shop.example/a.png' })
  const card = (index: number, file: number) => ({
    card_index: index,
    components: [{ type: 'HEADER', parameters: [{ type: 'image', image: { gallery: file } }] }],
  })
  const template = acknowledgedId(
    await service.post('/chatappbusiness/send-templated-message', {
      ...{ api_key: service.tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual' },
      ...{ to: '+491700000002', type: 'template', sender: service.sender },
      template: {
        name: 'cards',
        language: { code: 'en_US' },
        components: [{ type: 'CAROUSEL', cards: [card(0, first.id), card(1, second.id)] }],
      },
    }),
  )
  for (const message of [button, document, link, template])
    await reaches(service, service.tenant, message, 'read', 20_000)
  const [one, two, paper] = [await idsOf(first.hash), await idsOf(second.hash), await idsOf(pdf.hash)]
  expect([one.length, two.length, paper.length]).toEqual([1, 1, 1])
  expect(await mediaOf(button)).toEqual(one)
  expect(await mediaOf(document)).toEqual(paper)
  expect(await mediaOf(template)).toEqual([...one, ...two])
  expect(await mediaOf(link)).toBeUndefined()
})

test('a file that WhatsApp lost is uploaded again, and no message fails', async () => {
  const { id, hash } = await newPicture()
  await reaches(service, service.tenant, await sentWith('image', { gallery: id }), 'read', 20_000)
  await control(service, { end_media: true })
  const messages = await Promise.all(Array.from({ length: 5 }, () => sentWith('image', { gallery: id })))
  for (const message of messages) await reaches(service, service.tenant, message, 'read', 30_000)
  expect(await idsOf(hash)).toHaveLength(2)
})

test('a throttled upload makes the message wait, with the reason; it is sent once uploads work again', async () => {
  await control(service, { uploads_refused_with: 130429 })
  const { id } = await newPicture()
  const message = await sentWith('image', { gallery: id })
  const said = async () => {
    const { state, waits } = await shown(message)
    return state === 'queued' && waits?.why === 'file_upload' && /does not take the file: .*130429/.test(waits.sentence)
  }
  await eventually(said, 'it says that it waits for the upload, and why', 10_000)
  // Nothing else waits with it.
  await reaches(service, service.tenant, await sentWith('text', { body: 'Hello' }), 'read', 10_000)
  await control(service, { uploads_refused_with: null })
  await reaches(service, service.tenant, message, 'read', 30_000)
})

test('a file that WhatsApp refuses fails its messages with the reason, and is not offered again for each', async () => {
  await control(service, { uploads_refused_with: 100 })
  const { id } = await newPicture()
  const first = await sentWith('image', { gallery: id })
  await reaches(service, service.tenant, first, 'failed', 20_000)
  expect((await shown(first)).problem).toMatchObject({
    code: '100',
    sentence: expect.stringContaining('does not take the file'),
  })
  await control(service, { uploads_refused_with: null })
  await reaches(service, service.tenant, await sentWith('image', { gallery: id }), 'failed', 20_000)
})

test('a message fails after a bounded number of uploads when WhatsApp knows none of its own ids', async () => {
  await control(service, { media_lasts_ms: 0 })
  const { id, hash } = await newPicture()
  const message = await sentWith('image', { gallery: id })
  await reaches(service, service.tenant, message, 'failed', 60_000)
  const tries = service.config.maxTries
  expect((await idsOf(hash)).length).toBeLessThanOrEqual(tries)
  expect((await idsOf(hash)).length).toBeGreaterThan(1)
})

test('a file whose bytes are missing on disk fails its message and stops no other', async () => {
  const { id, path } = await newPicture()
  rmSync(path)
  const message = await sentWith('image', { gallery: id })
  await reaches(service, service.tenant, message, 'failed', 20_000)
  expect((await shown(message)).problem?.code).toBe('gallery_file_gone')
  await reaches(service, service.tenant, await sentWith('text', { body: 'Hello' }), 'read', 10_000)
})

describe('a worker that ends during an upload', () => {
  test('by a stop leaves the message to the next one, which uploads again', async () => {
    await control(service, { upload_delay_ms: 60_000 })
    const { id, hash } = await newPicture()
    const message = await sentWith('image', { gallery: id })
    await eventually(async () => (await shown(message)).waits?.why === 'file_upload', 'it is being uploaded')
    await service.stopWorker()
    await control(service, { upload_delay_ms: 0 })
    await service.startWorker()
    await reaches(service, service.tenant, message, 'read', 30_000)
    const [known] = await Promise.all([mediaOf(message)])
    expect(await idsOf(hash)).toEqual(expect.arrayContaining([...(known ?? [])]))
  })

  test('by its death is waited for until its lease is over, and then the file is uploaded', async () => {
    const { id, hash } = await newPicture()
    expect(await holdUpload(service.redis, { lane: service.lane, hash }, 'a worker that died', true)).toBe(true)
    const lease = uploadLeaseOf(service.redis, { lane: service.lane, hash })
    expect(await lease.livesMs()).toBeGreaterThan(0)
    // As long as a slow machine needs to send a message.
    await lease.expireIn(3_600_000)
    const message = await sentWith('image', { gallery: id })
    await eventually(async () => (await shown(message)).waits?.why === 'file_upload', 'it waits')
    expect(await idsOf(hash)).toEqual([])
    await lease.expireIn(1)
    await reaches(service, service.tenant, message, 'read', 40_000)
    expect(await idsOf(hash)).toHaveLength(1)
  })
})

describe('a campaign', () => {
  const components = (image: object) => [
    { type: 'HEADER', parameters: [{ type: 'image', image }] },
    { type: 'BODY', parameters: [{ type: 'text', text: { from: 'contact.name' } }] },
  ]
  const template = (image: object) => ({
    template: { name: 'picture', language: { code: 'en_US' }, components: components(image) },
  })

  test('uploads its picture once, before it starts, and needs no public gallery of ours', async () => {
    await control(service, { links_refused: true })
    const { id: file, hash } = await newPicture()
    const { tag } = await service.addPeople(60)
    const id = await service.ready({ tags: [tag] }, template({ gallery: file }))
    expect(await idsOf(hash)).toHaveLength(1)
    expect((await service.show(id)).preflight).toMatchObject({
      files: [{ gallery: String(file), uploaded: true }],
      warnings: [],
    })
    await service.move(id, 'start')
    const { progress } = await service.reaches(id, 'done', 120_000)
    expect([progress.failed, Number(progress.sent) + Number(progress.delivered) + Number(progress.read)]).toEqual([
      0, 60,
    ])
    expect(await idsOf(hash)).toHaveLength(1)
  })

  test('with a link for more than a thousand people gets a warning in its preflight', async () => {
    const { tag } = await service.addPeople(1_001)
    const id = await service.ready({ tags: [tag] }, template({ link: 'https://shop.example/spring.png' }))
    expect((await service.show(id)).preflight?.warnings).toMatchObject([
      { path: 'template.components[0].parameters[0].image.link', message: expect.stringContaining('131053') },
    ])
  })

  test('whose file does not exist, or differs from person to person, is refused before it starts', async () => {
    const { tag } = await service.addPeople(1)
    const id = await service.create({ tags: [tag] }, template({ gallery: 999_999 }))
    const { state, preflight } = await service.checked(id)
    expect([state, preflight?.problems[0]?.message]).toEqual(['blocked', 'there is no file 999999 in the gallery'])
    const differs = await service.request(
      'POST',
      '/campaigns',
      service.definition({ tags: [tag] }, template({ gallery: { from: 'contact.name' } })),
    )
    expect([differs.status, detailsOf(differs.json())[0]?.message]).toEqual([
      400,
      'expected one file for all recipients',
    ])
  })

  test('whose upload fails at first is ready nevertheless, waits and is sent once uploads work again', async () => {
    await control(service, { uploads_refused_with: 2 })
    const { id: file, hash } = await newPicture()
    const { tag } = await service.addPeople(50)
    const id = await service.ready({ tags: [tag] }, template({ gallery: file }))
    expect((await service.show(id)).preflight).toMatchObject({ files: [{ uploaded: false }], warnings: [{}] })
    await service.move(id, 'start')
    const listed = z.object({ data: z.array(z.object({ id: z.string() })) })
    const waits = async () => {
      const [first] = listed.parse((await service.request('GET', `/messages?campaign=${id}&limit=1`)).json()).data
      return first !== undefined && (await shown(first.id)).waits?.why === 'file_upload'
    }
    await eventually(waits, 'its messages say what they wait for')
    await control(service, { uploads_refused_with: null })
    await service.reaches(id, 'done', 60_000)
    // It is done once all have left; reports that they were read may still be on their way.
    await eventually(async () => (await service.show(id)).progress.read === 50, 'all are read')
    expect((await service.show(id)).progress.failed).toBe(0)
    expect(await idsOf(hash)).toHaveLength(1)
  })
})
