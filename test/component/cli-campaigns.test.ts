// Pins: a campaign can be run from the command line alone, and what cannot be done is told in one sentence.
// Real: Redis, producer, worker, files. Stood in for: WhatsApp.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'

let service: CampaignService
const folder = mkdtempSync(join(tmpdir(), 'laneway-cli-campaigns-'))

beforeAll(async () => {
  service = await startCampaigns()
})
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true })
})

const cli = (...words: string[]) => runCli(['campaigns', ...words], service.settings)

async function json(...words: string[]) {
  const { code, stdout, stderr } = await cli(...words, '--json')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return documentIn(stdout)
}

function written(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

test('create, upload, preflight, start, watch, export', async () => {
  const definition = written(
    'spring.json',
    JSON.stringify(service.definition({ rows: { phone: 'Mobile' } }, { name: 'Spring' })),
  )
  const { id } = await json('create', definition, '--account', String(service.tenant.account))
  const rows = written('people.csv', 'name,Mobile\nAnn,+49 1520 9990001\nBob,+49 1520 9990002\nBob,nonsense\n')
  expect(await json('upload', id, rows)).toMatchObject({ id, rows: 3 })
  expect((await cli('upload', id, rows)).stdout).toContain(`Uploaded 3 rows to ${id}.`)
  const checked = await json('preflight', id)
  expect(checked).toMatchObject({ state: 'ready', preflight: { recipients: 2, refused: { number: 1 } } })

  const refused = join(folder, 'refused.csv')
  expect(await cli('refused', id, refused)).toMatchObject({ code: 0 })
  expect(readFileSync(refused, 'utf8')).toMatch(/^where,phone,reason,explanation\nline 4,nonsense,number,.+\n$/)

  // Nobody is in a queue before the start.
  expect((await cli('show', id)).stdout).toMatch(/Recipients +2/)
  expect((await cli('show', id)).stdout).not.toContain('queued')
  expect((await cli('list', '--account', String(service.tenant.account))).stdout).toMatch(/Spring +ready .* 2 +- +0/)

  await json('start', id)
  const watched = await cli('watch', id)
  expect(watched.stdout).toContain('done')
  // Nobody looks at a terminal here: lines instead of a bar, the last of them with how it ended.
  expect(watched.stderr).toMatch(/^(\w+: \d of 2 processed, 0 failed\n)+$/)
  expect(watched.stderr).toContain('done: 2 of 2 processed')
  expect(watched.stdout).toContain('{"from":"row.name"}')
  expect(await json('list', '--account', String(service.tenant.account))).toMatchObject([
    { id, state: 'done', name: 'Spring' },
  ])
  const inState = (states: string) => json('list', '--account', String(service.tenant.account), '--state', states)
  expect(await inState('draft,done')).toMatchObject([{ id }])
  expect(await inState('draft,paused')).toEqual([])

  const outcome = join(folder, 'outcome.csv')
  expect(await cli('export', id, outcome)).toMatchObject({ code: 0 })
  const [header, ann, bob, ...more] = readFileSync(outcome, 'utf8').trimEnd().split('\n')
  expect(header).toMatch(/^recipient,message_id,state,/)
  expect(ann).toMatch(/^4915209990001,msg_\d+_\w{26},(sent|delivered|read),/)
  expect(bob).toMatch(/^4915209990002,/)
  expect(more).toEqual([])
  expect((await service.ledger()).sort()).toEqual(['4915209990001', '4915209990002'])
})

test('pause, resume and cancel report what they did, and what the state does not allow', async () => {
  const { tag } = await service.addPeople(20)
  const id = await service.ready({ tags: [tag] })
  const early = await cli('pause', id)
  expect(early).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'error: This needs a campaign that is running; it is ready. [wrong_state]\n',
  })
  expect(await json('schedule', id, '2999-01-01T00:00:00Z')).toMatchObject({ state: 'scheduled' })
  expect(await json('cancel', id)).toMatchObject({ state: 'cancelled', progress: { cancelled: 20 } })
})

test('a start that comes too early is refused with the reason and what to do', async () => {
  const draft = await service.create({ rows: {} })
  expect((await cli('start', draft)).stderr).toContain('it is draft. Run its preflight first.')
  await service.upload(draft, 'phone,name\nnonsense,Ann\n')
  expect((await service.checked(draft)).state).toBe('blocked')
  for (const start of [
    ['start', draft],
    ['schedule', draft, '2999-01-01T00:00:00Z'],
  ]) {
    const { code, stderr } = await cli(...start)
    expect(code).toBe(1)
    expect(stderr).toContain('it is blocked. Its preflight found: recipients: no valid recipients.')
    expect(stderr).toContain('run the preflight again')
  }
  const overHttp = await service.request('POST', `/campaigns/${draft}/start`)
  expect(overHttp.json().message).toContain('Its preflight found: recipients: no valid recipients.')
})

test('the list needs no account, and shows campaigns of all accounts, the latest first', async () => {
  const id = await service.create({ rows: {} }, { name: 'Everywhere' })
  const other = await service.addTenant()
  const theirs = await service.request(
    'POST',
    '/campaigns',
    { ...service.definition({ rows: {} }, { name: 'Theirs' }), sender: other.cloudNumber },
    other.apiKey,
  )
  expect(theirs.status, theirs.text).toBe(201)
  const [first, second] = await json('list')
  expect([first.name, second.id]).toEqual(['Theirs', id])
  expect((await json('list', '--account', String(service.tenant.account)))[0]).toMatchObject({ id })
})

test('a campaign given by name instead of id does not look like one without messages', async () => {
  const id = await service.create({ rows: {} }, { name: 'Black Friday' })
  const messages = (...words: string[]) => runCli(['messages', ...words], service.settings)
  for (const words of [['list'], ['requeue', '--dry-run']]) {
    const { code, stderr, stdout } = await messages(...words, '--campaign', 'Black Friday')
    expect(code, words.join(' ') + stderr + stdout).toBe(1)
    expect(stderr).toContain(`it is the name of ${id}: name the campaign by its id.`)
  }
  const unknown = await messages('list', '--campaign', 'nothing of the sort')
  expect(unknown).toMatchObject({ code: 0, stdout: expect.stringContaining('No message has the campaign_id') })
})

test('a class is sent to again only when that is confirmed', async () => {
  const { tag } = await service.addPeople(3)
  const id = await service.ready({ tags: [tag] })
  await json('cancel', id)
  const whole = await cli('resume', id)
  expect(whole.stderr).toContain('it is cancelled. With a class a new campaign is made for part of its recipients.')
  const first = await json('resume', id, '--class', 'cancelled')
  const second = await cli('resume', id, '--class', 'cancelled')
  expect(second).toMatchObject({ code: 2, stdout: '' })
  expect(second.stderr).toContain(`${first.id} was made for the cancelled recipients of ${id} already`)
  expect(second.stderr).toContain('--yes')
  const agreed = await json('resume', id, '--class', 'cancelled', '--yes')
  expect(agreed.id).not.toBe(first.id)
})

test('a wrong definition is refused with all its faults', async () => {
  const file = written(
    'wrong.json',
    JSON.stringify({ sender: 7, template: { name: 'spring', language: {} }, recipients: { tags: [] } }),
  )
  const { code, stderr } = await cli('create', file, '--account', String(service.tenant.account))
  expect(code).toBe(1)
  expect(stderr).toContain('sender: expected a string')
  expect(stderr).toContain('template.language.code: required')
  expect(stderr).toContain('recipients')
})

test('a campaign that does not exist and an invalid id are refused', async () => {
  expect(await cli('show', 'cmp_1_999')).toMatchObject({
    code: 1,
    stderr: 'error: The campaign does not exist: cmp_1_999. [not_found]\n',
  })
  expect(await cli('show', 'nonsense')).toMatchObject({ code: 1, stderr: expect.stringContaining('[not_found]') })
  expect(await cli('upload', 'cmp_1_999', 'people.xlsx')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/ends in \.csv, .+ \(of a workbook, save the sheet as CSV\)/),
  })
})

test('an unknown state is reported with the states that exist', async () => {
  const wrong = await cli('list', '--account', String(service.tenant.account), '--state', 'done,gone')
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^error: --state: expected "draft", .+, got "gone"\.\n$/),
  })
})
