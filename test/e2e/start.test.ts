// `npm start` on an empty data folder: what is there when it says that it is ready, and what it survives. It runs on what
// production installs, as in the image: package.json, dist/ and the packages that package.json names as dependencies.
// Something that is only a devDependency is not there.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { becomes, call, sendImage } from '../support/calls.ts'
import { type Demo, demoFile, launchLaneway, newDataDir, readyDemo } from '../support/laneway.ts'
import { type Ended, startProcess, type TestProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

const GALLERY = 'partners/wp-gallery/manage'
const folder = newDataDir()
const bare = mkdtempSync(join(tmpdir(), 'laneway-bare-'))
let started: TestProcess
/** Another start on the same folder at the same moment, which was refused. */
let refused: { process: TestProcess; ended: Ended }
let demo: Demo

/** One start more. DEBUG would make ioredis print what it sends to Redis. */
const launch = () =>
  launchLaneway(folder.dataDir, { DEBUG: 'ioredis:*' }, [process.execPath, join(bare, 'dist/demo/start.js')])

beforeAll(async () => {
  installBare()
  // Of a process that is long gone, under an id that lives.
  const holder = { pid: process.pid, started: '1', command: 'node', parent: 0, state: 'running' }
  writeFileSync(join(folder.dataDir, 'laneway.pid'), JSON.stringify(holder))
  const both = [launch(), launch()]
  refused = await Promise.race(both.map(async (each) => ({ process: each, ended: await each.ended })))
  const other = both.find((each) => each !== refused.process)
  if (other === undefined) throw new Error('unreachable')
  started = other
  demo = await readyDemo(folder.dataDir, started)
  // It prints its commands after that.
  await eventually(async () => /^curl .*\/messages\/.*; echo$/m.test(started.stdout()), 'its commands')
})
afterAll(async () => {
  await folder.remove()
  rmSync(bare, { recursive: true, force: true })
})

function installBare(): void {
  for (const part of ['package.json', 'dist']) cpSync(part, join(bare, part), { recursive: true })
  const manifest = z.object({ dependencies: z.record(z.string(), z.string()) })
  const { dependencies } = manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')))
  for (const name of Object.keys(dependencies)) {
    const path = join(bare, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(resolve('node_modules', name), path)
  }
}

const optionalSchema = z.object({ optionalDependencies: z.record(z.string(), z.string()) })

/** Files of one folder, or of the trash, as [id, folder]. */
async function files(
  query: string,
  bearer = demo.access_token,
): Promise<{ id: number; folder_id: number; url: string }[]> {
  const answer = await call(`${demo.base_url}/${GALLERY}/files?${query}`, undefined, { method: 'GET', bearer })
  expect(answer.status).toBe(200)
  return (answer.body as { data: { id: number; folder_id: number; url: string }[] }).data
}

describe('a first start', () => {
  test('delivers a message that is sent with the demo key', async () => {
    await becomes(demo, await sendImage(demo), 'delivered')
  })

  test('keeps demo.json for its owner only', () => {
    expect(statSync(demoFile(folder.dataDir)).mode & 0o777).toBe(0o600)
    expect(statSync(folder.dataDir).mode & 0o777).toBe(0o700)
  })

  test('leaves half of the memory for everything but its Redis', async () => {
    const settings = readFileSync(join(folder.dataDir, 'redis/redis.conf'), 'utf8')
    const bytes = Number(/^maxmemory "(\d+)"$/m.exec(settings)?.[1])
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThanOrEqual(totalmem() / 2)
  })

  test('prints commands that work when copied', async () => {
    const commands = started.stdout().match(/^curl .*$/gm) ?? []
    expect(commands).toHaveLength(2)
    const readme = /^curl -s (\S+) -H 'Authorization: Bearer lw_…' .* -d '(\{.*?\})'$/ms.exec(
      readFileSync('README.md', 'utf8'),
    )
    const statuses: number[] = []
    for (const command of commands) {
      const [, url = '', bearer = '', body] =
        /^curl -s (\S+) -H 'Authorization: Bearer (\S+)'(?: .* -d '(.*)')?; echo$/.exec(command) ?? []
      if (body !== undefined)
        expect([new URL(url).pathname, JSON.parse(body)]).toEqual([
          new URL(readme?.[1] ?? '').pathname,
          JSON.parse(readme?.[2] ?? ''),
        ])
      const how = body === undefined ? { method: 'GET', bearer } : { bearer }
      statuses.push((await call(url, body && JSON.parse(body), how)).status)
    }
    expect(statuses).toEqual([202, 200])
  })

  test('prints the key of the console first and the one for messages below, and no key that only the demo has', () => {
    const keys = Array.from(started.stdout().matchAll(/^ {2}(\w+) +(lw_\w+)/gm), ([, name, key]) => [name, key])
    expect(keys).toEqual([
      ['operator_key', demo.operator_key],
      ['api_key', demo.api_key],
    ])
  })

  test('has received a message through WhatsApp’s webhook', async () => {
    const answer = await call(`${demo.base_url}/chatappbusiness/fetchmessageinfo`, {
      api_key: demo.api_key,
      message_id: demo.inbound_message_id,
    })
    expect(answer).toMatchObject({
      status: 200,
      body: { message: { data: { direction: 'inbound', message_type: 'text' } } },
    })
  })

  test('has a sender at which a check finds nothing missing', async () => {
    const as = { method: 'GET', bearer: demo.admin_key }
    const senders = (await call(`${demo.base_url}/admin/senders`, undefined, as)).body as {
      data: { id: number; provider: string }[]
    }
    const cloud = senders.data.find(({ provider }) => provider === 'cloud-api')
    const { body } = await call(`${demo.base_url}/admin/senders/${cloud?.id}/check`, undefined, as)
    const { findings } = (body as { data: { findings: { state: string; what: string }[] } }).data
    expect(findings.filter(({ state }) => state === 'missing')).toEqual([])
    expect(findings).toContainEqual(expect.objectContaining({ what: 'number', state: 'good' }))
  })

  test('fills the gallery as demo.json describes', async () => {
    const [first, second, third] = demo.folder_ids
    expect(demo.folder_ids).toHaveLength(3)
    const inFirst = await files(`folder_id=${first}`)
    const elsewhere = [...(await files(`folder_id=${second}`)), ...(await files(`folder_id=${third}`))]
    expect(inFirst.map((file) => file.id)).toEqual(demo.file_ids.slice(0, 3))
    expect(elsewhere.map((file) => file.id)).toEqual(demo.file_ids.slice(3))
    expect(demo.file_ids).toHaveLength(5)
    expect(await files('trash=true')).toMatchObject([
      { id: demo.trashed_file_id, folder_id: demo.trashed_file_folder_id },
    ])
    for (const file of [...inFirst, ...elsewhere]) expect((await fetch(file.url)).status).toBe(200)
  })

  test('has one system folder, which cannot be renamed with the demo token', async () => {
    const url = `${demo.base_url}/${GALLERY}/folders/${demo.system_folder_id}`
    expect(await call(url, { name: 'Mine' }, { method: 'PUT', bearer: demo.access_token })).toMatchObject({
      status: 403,
    })
  })

  test('has two contact lists that overlap, in both answer shapes', async () => {
    const membersOf = async (api_key: string, tags: number[]) => {
      const url = `${demo.base_url}/api/betav3/tagmanage/tag/fetchContactsTagWise`
      const answer = await call(url, { api_key, tags })
      expect(answer.status).toBe(200)
      return (answer.body as { data: { id?: number; contact_id?: number }[] }).data
    }
    for (const account of [demo, demo.other_account]) {
      const [one = [], two = []] = await Promise.all(account.tag_ids.map((tag) => membersOf(account.api_key, [tag])))
      const idsIn = (members: typeof one) => members.map((member) => member.id ?? member.contact_id)
      const both = idsIn(one).filter((id) => idsIn(two).includes(id))
      expect(both.length).toBeGreaterThan(0)
      expect(one.length - both.length).toBe(1)
      expect(two.length - both.length).toBe(1)
    }
    expect((await membersOf(demo.api_key, demo.tag_ids))[0]).toHaveProperty('contact_tag_id')
    expect((await membersOf(demo.other_account.api_key, demo.other_account.tag_ids))[0]).toHaveProperty('contact_id')
  })

  test('refuses the expired keys and accepts the others', async () => {
    const rename = (bearer: string) =>
      call(`${demo.base_url}/${GALLERY}/folders/${demo.folder_ids[0]}`, { name: 'Pictures' }, { method: 'PUT', bearer })
    const createTag = (bearer: string, name: string) =>
      call(
        `${demo.base_url}/partners/broadcast/addnewcontacttag`,
        { name },
        {
          bearer,
          headers: { 'x-requested-with': 'XMLHttpRequest' },
        },
      )
    const lookUp = (api_key: string) =>
      call(`${demo.base_url}/chatappbusiness/fetchmessageinfo`, { api_key, message_id: demo.inbound_message_id })

    expect(await rename(demo.expired_access_token)).toMatchObject({ status: 401 })
    expect(await createTag(demo.expired_auth_token, 'Late')).toMatchObject({ status: 401 })
    expect(await lookUp(demo.expired_api_key)).toMatchObject({ status: 401 })
    expect(await rename(demo.access_token)).toMatchObject({ status: 200 })
    expect(await createTag(demo.auth_token, 'In time')).toMatchObject({ status: 200 })
    expect(await lookUp(demo.other_account.api_key)).toMatchObject({ status: 404 })
  })

  test('has the promised templates approved', async () => {
    expect(demo.templates).toEqual(['order_update', 'flash_sale', 'new_arrivals', 'invoice', 'clip'])
    const sent = await call(`${demo.base_url}/chatappbusiness/send-templated-message`, {
      api_key: demo.api_key,
      sender: demo.sender,
      messaging_product: 'chatapp',
      recipient_type: 'individual',
      to: '+447700900123',
      type: 'template',
      template: {
        name: 'clip',
        language: { code: 'en_US' },
        components: [
          { type: 'HEADER', parameters: [{ type: 'VIDEO', video: { link: 'https://shop.example/clip.mp4' } }] },
        ],
      },
    })
    expect(sent).toMatchObject({ status: 200 })
  })
})

test('of several starts on one data folder one runs, whatever an old one left, and the others are refused and disturb nothing', async () => {
  expect(refused.ended).toEqual({ code: 1, signal: null })
  expect(refused.process.stderr()).toMatch(/is already running/)
  const late = launch()
  expect(await late.ended).toEqual({ code: 1, signal: null })
  expect(late.stderr().trim()).toBe(
    `Another Laneway is already running on the data folder ${folder.dataDir} (process ${started.pid}); stop it, or set LANEWAY_DATA_DIR to another folder.`,
  )
  await becomes(demo, await sendImage(demo), 'delivered')
  expect(existsSync(demoFile(folder.dataDir))).toBe(true)
})

test('a start with a bucket says what to install where that is not there', async () => {
  const env = { LANEWAY_FILES_URL: 's3://files/laneway?endpoint=http://127.0.0.1:9' }
  const started = launchLaneway(join(folder.dataDir, 'bucket'), env, [
    process.execPath,
    join(bare, 'dist/demo/start.js'),
  ])
  expect(await started.ended).toEqual({ code: 1, signal: null })
  expect(started.stderr()).toMatch(
    /^Files in a bucket \(LANEWAY_FILES_URL\) need .*: npm install @aws-sdk\/\S+@\d.*\.$/m,
  )
})

test('everything works with the production dependencies only, and the raw queues say what to install', async () => {
  const signIn = await fetch(`${demo.base_url}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: demo.base_url },
    body: JSON.stringify({ key: demo.operator_key }),
  })
  const cookie = String(signIn.headers.get('set-cookie')).split(';')[0] ?? ''
  const look = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`${demo.base_url}${path}`, { headers: { cookie } })
    return [answer.status, await answer.text()]
  }
  const [status, refusal] = await look('/dashboard/')
  const { optionalDependencies } = optionalSchema.parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const board = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('@bull-board/'))
  const packages = board.map(([name, version]) => `${name}@${version}`).join(' ')
  const message = `The raw queues need packages that are not installed: npm install ${packages}.`
  expect([status, JSON.parse(refusal)]).toMatchObject([501, { message, error: { code: 'not_installed' } }])
  expect(await look('/console')).toMatchObject([200, expect.stringContaining('<script')])
  expect(await look('/docs')).toMatchObject([200, expect.anything()])
  const gallery = `${demo.base_url}/${GALLERY}/files?folder_id[a][b]=1`
  const nested = await call(gallery, undefined, { method: 'GET', bearer: demo.access_token })
  expect(nested.status).toBeLessThan(500)

  const words = [join(bare, 'dist/cli.js'), 'senders', 'list']
  const cli = startProcess(process.execPath, words, { LANEWAY_DATA_DIR: folder.dataDir })
  expect(await cli.ended, cli.stderr()).toMatchObject({ code: 0 })
  expect(cli.stdout()).toContain(demo.sender)
})

describe('a running service', () => {
  const pidOf = (file: string) => Number(readFileSync(join(folder.dataDir, file), 'utf8'))

  test('works again after its private Redis was killed, with nothing lost', async () => {
    const before = await sendImage(demo)
    const killed = pidOf('redis/redis.pid')
    process.kill(killed, 'SIGKILL')
    await eventually(
      async () =>
        (await call(`${demo.base_url}/readyz`, undefined, { method: 'GET' })).status === 200 &&
        pidOf('redis/redis.pid') !== killed,
      'ready on another Redis process',
    )
    await becomes(demo, before, 'delivered', 60_000)
    await becomes(demo, await sendImage(demo), 'delivered')
  })

  test('starts its simulator again on the same port after a kill, however often a launch fails', async () => {
    const line =
      started
        .stdout()
        .split('\n')
        .find((text) => text.includes('simulator.started')) ?? '{}'
    // Its output cannot be written: a launch throws.
    const output = join(folder.dataDir, 'simulator.log')
    rmSync(output)
    mkdirSync(output)
    process.kill((JSON.parse(line) as { pid: number }).pid, 'SIGKILL')
    await eventually(async () => started.stdout().split('simulator.died').length > 2, 'a launch that fails is noticed')
    rmdirSync(output)
    await eventually(async () => (await fetch(`${demo.simulator_url}/_health`)).ok, 'it answers again')
    await becomes(demo, await sendImage(demo), 'delivered')
    expect(started.stdout()).not.toContain('process.fault')
  })
  test('stops in order, and has printed no value sent to Redis', async () => {
    started.kill('SIGTERM')
    expect(await started.ended).toEqual({ code: 0, signal: null })
    expect(started.stdout() + started.stderr()).not.toMatch(/ioredis:/)
  })
})
