// Pins: the examples find the demo where `npm start` puts it, without being told. What they do with it is pinned by
// test/e2e/tracing.test.ts and test/servers/packed-client.test.ts.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { settings } from '../../src/kernel/config.ts'
import { listen } from '../testbed/free-port.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/tracing/send.js')

test('the tracing example sends to the demo of the folder in which it runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-example-'))
  const server = createServer((_request, response) =>
    response.setHeader('connection', 'close').end('{"messages":[{"id":"msg_1_A"}]}'),
  )
  onTestFinished(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const port = await listen(server)
  const dataDir = join(folder, settings.LANEWAY_DATA_DIR.parse(undefined))
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'demo.json'), JSON.stringify({ base_url: `http://127.0.0.1:${port}`, api_key: 'lw_A' }))
  const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  })
  expect(stdout).toMatch(/^trace \w{32} message msg_1_A/)
})
