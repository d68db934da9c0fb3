// Pins `laneway mcp`: what an agent can find out and prepare, played by a scripted client of the same protocol package; and what it
// cannot do. Real: the command line as a process, Redis, producer, worker. Stood in for: WhatsApp and the model.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'

const TEST_NUMBER = '+491700006666'
const SECRET = /lw_\w{38}|whsec_|"token"\s*:\s*"/

let service: CampaignService
let agent: Client
let lane: number
let failed: string
beforeAll(async () => {
  service = await startCampaigns()
  const { tenant } = service
  lane = tenant.partnerLane
  agent = await connected({ LANEWAY_MCP_TEST_NUMBERS: TEST_NUMBER })
  // The simulator refuses what goes to this number.
  failed = await sendTo(service, tenant, '+15550100101')
  await reaches(service, tenant, failed, 'failed')
})
afterAll(async () => {
  await agent?.close()
  await service?.close()
})

async function connected(env: Record<string, string>): Promise<Client> {
  const client = new Client({ name: 'scripted', version: '1.0.0' })
  const args = ['dist/cli.js', 'mcp', '--account', String(service.tenant.account)]
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args,
      env: { ...service.settings, ...env },
      stderr: 'ignore',
    }),
  )
  return client
}

const answerSchema = z.object({
  content: z.tuple([z.object({ type: z.literal('text'), text: z.string() })]),
  isError: z.boolean().optional(),
})

async function call(name: string, given: Record<string, unknown> = {}) {
  const { content, isError } = answerSchema.parse(await agent.callTool({ name, arguments: given }))
  expect(content[0].text.length).toBeLessThanOrEqual(20_000)
  return { text: content[0].text, isError: isError === true }
}

/** What is in the answer's `data`. */
async function data<T>(schema: z.ZodType<T>, name: string, given: Record<string, unknown> = {}): Promise<T> {
  const { text, isError } = await call(name, given)
  expect(isError, text).toBe(false)
  return schema.parse(z.object({ data: z.unknown() }).parse(JSON.parse(text.slice(text.indexOf('{')))).data)
}

describe('an agent finds out', () => {
  test('why a lane does not send, by whom and since when', async () => {
    await (await service.operator()).post(`/admin/lanes/${lane}/pause`, { reason: 'stocktaking' })
    const lanes = z.array(z.looseObject({ lane: z.number() }))
    const shown = (await data(lanes, 'adminLanes')).find((each) => each.lane === lane)
    expect(JSON.stringify(shown)).toContain('stocktaking')
    await (await service.operator()).post(`/admin/lanes/${lane}/resume`)
  })

  test('what became of a message, and why it failed', async () => {
    const message = z.object({ state: z.string(), problem: z.object({ code: z.string(), sentence: z.string() }) })
    const found = await data(message, 'messagesShow', { id: failed })
    expect(found.state).toBe('failed')
    expect(found.problem.sentence).not.toBe('')
  })

  test('all messages to a person', async () => {
    const found = await data(z.array(z.object({ id: z.string() })), 'messagesList', { to: '+15550100101' })
    expect(found.map(({ id }) => id)).toContain(failed)
  })

  test('which failures there were, by code', async () => {
    const live = z.looseObject({})
    const code = (await data(z.object({ problem: z.object({ code: z.string() }) }), 'messagesShow', { id: failed }))
      .problem.code
    await eventually(
      async () => JSON.stringify(await data(live, 'consoleLiveSnapshot')).includes(code),
      'the figures have the failure',
    )
  })

  test('which campaigns there are, and how far one is', async () => {
    const { tag } = await service.addPeople(2)
    const id = await service.ready({ tags: [tag] })
    expect((await data(z.array(z.object({ id: z.string() })), 'campaignsList')).map((each) => each.id)).toContain(id)
    expect(await data(z.object({ state: z.string() }), 'campaignsShow', { id })).toEqual({ state: 'ready' })
  })

  test('whether a person may be sent more than templates', async () => {
    const text = (await call('conversationsShow', { person: '+15550100101' })).text
    expect(JSON.parse(text)).toMatchObject({ status: true })
  })

  test('which templates are approved', async () => {
    const names = await data(z.array(z.object({ name: z.string() })), 'templatesList')
    expect(names.length).toBeGreaterThan(0)
  })

  test('who did what', async () => {
    const acts = await data(z.array(z.object({ action: z.string() })), 'activityList')
    expect(acts.map(({ action }) => action)).toContain('lane.pause')
  })
})

describe('an agent prepares', () => {
  test('a campaign and its check, which a person starts', async () => {
    const { tag } = await service.addPeople(1)
    const { template } = service.definition({ tags: [tag] })
    const made = await data(z.object({ id: z.string(), state: z.string() }), 'campaignsCreate', {
      ...service.definition({ tags: [tag] }),
      name: 'by an agent',
      template,
    })
    expect(made.state).toBe('draft')
    await call('campaignsPreflight', { id: made.id })
    await eventually(
      async () => (await data(z.object({ state: z.string() }), 'campaignsShow', { id: made.id })).state === 'ready',
      'the campaign is checked',
    )
    expect(await call('campaignsStart', { id: made.id })).toEqual({
      text: 'There is no tool campaignsStart.',
      isError: true,
    })
    // Its own it may check again, and not what a person has seen checked.
    expect((await call('campaignsPreflight', { id: made.id })).isError).toBe(false)
    const seen = await service.ready({ tags: [tag] })
    expect(await call('campaignsPreflight', { id: seen })).toMatchObject({
      isError: true,
      text: expect.stringContaining('a person has it checked'),
    })
  })

  test('a test to a number that a person has named, and to no other', async () => {
    const message = { to: TEST_NUMBER, type: 'text', text: { body: 'A test' }, sender: service.tenant.cloudNumber }
    const sent = await data(z.object({ id: z.string() }), 'sendTest', { message })
    await reaches(service, service.tenant, sent.id, 'read')
    const refused = await call('sendTest', { message: { ...message, to: '+491700006667' } })
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(TEST_NUMBER) })
    for (const evading of [
      { messages: [message] },
      { ...message, messages: [message] },
      { ...message, to: [TEST_NUMBER] },
    ]) {
      expect((await call('sendTest', { message: evading })).isError).toBe(true)
    }
    expect((await call('sendTest', {})).isError).toBe(true)
    const again = await data(z.object({ id: z.string() }), 'sendTest', { message })
    expect(again.id, 'a model that asks again sends nothing twice').toBe(sent.id)
  })
})

test('no tool starts, resumes or removes anything, and none shows a secret', async () => {
  const { tools } = await agent.listTools()
  expect(tools.length).toBeGreaterThan(15)
  const acts = tools
    .map(({ name }) => name)
    .filter((name) => /start|resume|remove|delete|erase|cancel|rotate|revoke|key/i.test(name))
  expect(acts).toEqual([])
  const given: Record<string, Record<string, unknown>> = {
    messagesShow: { id: failed },
    campaignsShow: { id: await service.ready({ tags: [(await service.addPeople(1)).tag] }) },
    conversationsShow: { person: '+15550100101' },
    conversationsMessages: { person: '+15550100101' },
    adminShow: { lane },
    adminDeadLetters: { lane },
    sendersShow: { id: service.tenant.cloudLane },
    sendersCheck: { id: service.tenant.cloudLane },
    templatesShow: { name: (await data(z.array(z.object({ name: z.string() })), 'templatesList'))[0]?.name },
  }
  const shown: string[] = []
  for (const { name, annotations } of tools) {
    if (annotations?.readOnlyHint !== true) continue
    const { text, isError } = await call(name, given[name] ?? {})
    expect(text, name).not.toMatch(SECRET)
    if (!isError) shown.push(name)
  }
  expect(shown).toEqual(expect.arrayContaining(Object.keys(given)))
})

test('without test numbers nothing can be sent at all', async () => {
  const other = await connected({})
  const { tools } = await other.listTools()
  expect(tools.map(({ name }) => name)).not.toContain('sendTest')
  await other.close()
})

test('what is wrong is told with its code, and what is refused as an error', async () => {
  const gone = await call('messagesShow', { id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV' })
  expect(gone).toMatchObject({ isError: true, text: expect.stringContaining('[not_found]') })
  const wrong = await call('messagesList', { state: 'lost' })
  expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining('[invalid_request]') })
})

test('a long list comes in pages that a model can read', async () => {
  const page = z.object({ data: z.array(z.unknown()), next: z.string().nullable() })
  const body = 'x'.repeat(900)
  for (let i = 0; i < 60; i += 1) {
    const to = `+4917000070${String(i).padStart(2, '0')}`
    const { status } = await service.tenant.api.post('/messages', { to, type: 'text', text: { body } })
    expect(status).toBe(202)
  }
  const first = page.parse(JSON.parse((await call('messagesList', { limit: '50' })).text))
  expect(first.data.length).toBeGreaterThan(0)
  expect(first.next).not.toBeNull()
})
