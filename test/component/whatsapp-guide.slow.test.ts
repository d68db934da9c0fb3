// Pins: docs/guides/whatsapp.md leads from an empty account to a delivered message: its commands are typed as they stand there,
// against the simulator in place of Meta, and each step mends what the check before it missed. Real: shell, processes, Redis.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const APP_SECRET = 'app-secret-of-the-new-app'
let service: Service
const folder = mkdtempSync(join(tmpdir(), 'laneway-guide-'))

beforeAll(async () => {
  service = await startService({ env: { LANEWAY_CLOUD_API_APP_SECRET: '' }, simulator: { appSecret: APP_SECRET } })
  const { url } = service.simulator
  const number = { display_phone_number: '+44 7700 900001', status: 'PENDING', platform_type: 'NOT_APPLICABLE' }
  const control = {
    webhook_url: `${service.url}/webhooks/cloud-api/1`,
    account: { waba_id: '102290129340398', number, subscribed_apps: [], token: { expires_at: 0 } },
  }
  expect((await fetch(`${url}/_control`, { method: 'POST', body: JSON.stringify(control) })).status).toBe(200)
  writeFileSync(join(folder, 'token.txt'), 'token-of-a-system-user\n')
  writeFileSync(join(folder, 'app-secret.txt'), `${APP_SECRET}\n`)
  // `npm run cli --` runs the command line that was built, in the folder where people type.
  mkdirSync(join(folder, 'bin'))
  const npm = `#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec node ${resolve('dist/cli.js')} "$@"\n`
  writeFileSync(join(folder, 'bin', 'npm'), npm, { mode: 0o755 })
  symlinkSync(process.execPath, join(folder, 'bin', 'node'))
})
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The commands of a section, with the addresses of the test in place of the real ones. */
function commandsOf(heading: string): string {
  const page = readFileSync('docs/guides/whatsapp.md', 'utf8')
  const section = page.split(/^## /m).find((each) => each.startsWith(heading))
  if (section === undefined) throw new Error(`the guide has no section ${heading}`)
  const blocks = Array.from(section.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm), ([, code = '']) =>
    code.replaceAll(/^ {3}/gm, ''),
  )
  return blocks
    .join('\n')
    .replaceAll('https://graph.facebook.com', service.simulator.url)
    .replaceAll('https://laneway.example.com', service.url)
}

let typed = ''
/** Types the commands of a section into one shell, after what was set in those before; fails when one of them does. */
async function type(heading: string, more = '', endsWith = 0): Promise<string> {
  const commands = commandsOf(heading)
  const script = `set -e\n${typed}\n${commands}\n${more}`
  // Only variables stay from section to section.
  typed += commands
    .split('\n')
    .filter((line) => /^[A-Z_]+=[^$]*$/.test(line))
    .map((line) => `${line}\n`)
    .join('')
  const shell = spawn('bash', ['-c', script], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      ...service.settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  expect(shell.exitCode, `${heading}\n${stdout}\n${stderr}`).toBe(endsWith)
  return stdout
}

const missing = (output: string): string[] =>
  Array.from(output.matchAll(/^MISSING +(.+?) {2,}/gm), ([, what = '']) => what)

test('the guide typed from top to bottom ends with a delivered message', async () => {
  await type('1. At Meta')
  // The check ends with 1 while something is missing.
  expect(missing(await type('2. In Laneway', '', 1))).toEqual(['number', 'webhook subscription'])
  const registered = await type('3. Register the number', '', 1)
  expect(registered).toContain('{"success":true}')
  expect(missing(registered)).toEqual(['webhook subscription'])
  const subscribed = await type('4. Webhooks')
  expect(missing(subscribed)).toEqual([])
  expect(subscribed).toMatch(/Nothing is missing\.\n42$/)
  expect(await type('5. Templates')).toMatch(/hello_world +en_US +UTILITY +APPROVED/)
  const sent = await type('6. Send', 'echo "id $ID"')
  const [, id = ''] = /^id (msg_\S+)$/m.exec(sent) ?? []
  typed += `ID=${id}\n`
  await eventually(async () => {
    const [key] = /lw_\w+/.exec(readFileSync(join(folder, 'key.txt'), 'utf8')) ?? []
    const shown = await service.api.as(key).get(`/messages/${id}`)
    // By a webhook at the address of the account, signed with the secret that the guide has set.
    return /"state":"(delivered|read)"/.test(shown.text) || undefined
  }, 'it is delivered')
})
