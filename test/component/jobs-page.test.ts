// Pins: docs/reference/jobs.md is true: it names every job with its fields, its JSON is read, its program runs as it stands there.
// Real: Redis, producer, worker, a process with the program. Stood in for: WhatsApp.
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { connectLaneway } from '../../packages/client/src/index.ts'
import { contractOf, intakeAnswers, intakeJobSchema } from '../../src/jobs/intake.ts'
import { parseServiceMessage } from '../../src/messages/accept/read-send.ts'
import { startProcess } from '../support/processes.ts'
import { startService } from '../support/service.ts'

const page = readFileSync('docs/reference/jobs.md', 'utf8')

/** Names in backticks. */
const quoted = (text = ''): string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, name = '']) => name)

test('the table lists every job with the fields of its data and its answer', () => {
  const rows = page.split('\n').flatMap((line) => {
    const [, name, data, permission, answer] = line.split('|')
    const job = intakeJobSchema.safeParse(quoted(name)[0])
    return job.success && permission !== undefined
      ? [{ job: job.data, data: quoted(data), answer: quoted(answer) }]
      : []
  })
  expect(rows.map(({ job }) => job)).toEqual(intakeJobSchema.options)
  const read = contractOf({ v: 1 })
  if (!read.ok) throw new Error(read.fault.message)
  for (const { job, data, answer } of rows) {
    expect([...data, 'v', 'api_key'].sort()).toEqual(Object.keys(read.contract[job].shape).sort())
    if (job !== 'campaign-show') expect(answer.sort()).toEqual(Object.keys(intakeAnswers[job].shape).sort())
  }
})

test('the JSON under each job is valid for the job', () => {
  const examples = [...page.matchAll(/^### (\S+)\n\n```json\n(.*?)```/gms)]
  expect(examples.map(([, name]) => name)).toEqual(['send', 'status', 'campaign-start'])
  for (const [, name, text = ''] of examples) {
    const data = z.looseObject({ api_key: z.string() }).parse(JSON.parse(text))
    const read = contractOf(data)
    if (!read.ok) throw new Error(read.fault.message)
    const fields = read.contract[intakeJobSchema.parse(name)].parse(data)
    if ('message' in fields) expect(parseServiceMessage(fields.message)).toMatchObject({ ok: true })
  }
})

test('the program for plain BullMQ sends a message over TCP and over a socket and prints its id, or the refusal', async () => {
  const [, program = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  const dir = mkdtempSync(join(tmpdir(), 'laneway-page-'))
  const service = await startService()
  try {
    writeFileSync(join(dir, 'program.mjs'), program)
    symlinkSync(resolve('node_modules'), join(dir, 'node_modules'))
    const tenant = await service.addTenant()
    const run = async (apiKey: string, url = service.server.url) => {
      const child = startProcess(process.execPath, [join(dir, 'program.mjs')], {
        REDIS_URL: url,
        API_KEY: apiKey,
      })
      const { code } = await child.ended
      return { code, stdout: child.stdout(), stderr: child.stderr() }
    }
    expect(await run(tenant.apiKey)).toEqual({ code: 0, stdout: expect.stringMatching(/^msg_\d+_\w+\n$/), stderr: '' })
    const port = Number(new URL(service.server.url).port)
    const socket = createServer((client) => client.pipe(connect(port)).pipe(client))
    await once(socket.listen(join(dir, 'redis.sock')), 'listening')
    const url = `unix://${dir}/redis.sock`
    expect(await run(tenant.apiKey, url)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^msg_/), stderr: '' })
    const laneway = await connectLaneway({ redisUrl: url, apiKey: tenant.apiKey })
    expect(await laneway.send({ to: '+447700900123', type: 'text', text: { body: 'Hi' } })).toMatch(/^msg_/)
    await laneway.close()
    socket.close()
    expect(await run('lw_nobody')).toMatchObject({ stdout: '', stderr: 'The key is not known.\n' })
  } finally {
    await service.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
