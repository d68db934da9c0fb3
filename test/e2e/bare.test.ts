// Pins: the build runs on what production installs, as in the image: package.json, dist/ and the packages that package.json
// names as dependencies. Something that is only a devDependency is not there.
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { becomes, call, sendImage } from '../support/calls.ts'
import { startLaneway, testInFolder } from '../support/laneway.ts'
import { startProcess } from '../support/processes.ts'

const manifest = z.object({ dependencies: z.record(z.string(), z.string()) })

testInFolder('all of it works with the packages of production', async ({ dataDir }) => {
  const bare = join(dataDir, 'bare')
  for (const part of ['package.json', 'dist']) cpSync(part, join(bare, part), { recursive: true })
  const { dependencies } = manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')))
  for (const name of Object.keys(dependencies)) {
    const path = join(bare, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(resolve('node_modules', name), path)
  }
  const data = join(dataDir, 'data')
  // DEBUG would make libraries print what they send to Redis.
  const { process: laneway, demo } = await startLaneway(data, { DEBUG: '*' }, [
    process.execPath,
    join(bare, 'dist/demo/start.js'),
  ])
  await becomes(demo, await sendImage(demo), 'delivered')

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
  const [status, page] = await look('/dashboard/')
  expect({ status, page }).toMatchObject({ status: 200, page: expect.stringContaining('<div id="root"') })
  const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? ''
  expect(await look(new URL(script, `${demo.base_url}/dashboard/`).pathname)).toMatchObject([200, expect.anything()])
  expect(await look('/dashboard/api/queues?page=1&jobsPerPage=10')).toMatchObject([
    200,
    expect.stringContaining('lane'),
  ])
  expect(await look('/console')).toMatchObject([200, expect.stringContaining('<script')])
  expect(await look('/docs')).toMatchObject([200, expect.anything()])
  const gallery = `${demo.base_url}/partners/wp-gallery/manage/files?folder_id[a][b]=1`
  const nested = await call(gallery, undefined, { method: 'GET', bearer: demo.access_token })
  expect(nested.status).toBeLessThan(500)

  const cli = startProcess(process.execPath, [join(bare, 'dist/cli.js'), 'senders', 'list'], { LANEWAY_DATA_DIR: data })
  expect(await cli.ended, cli.stderr()).toMatchObject({ code: 0 })
  expect(cli.stdout()).toContain(demo.sender)

  laneway.kill('SIGTERM')
  expect(await laneway.ended).toMatchObject({ code: 0 })
  expect(laneway.stdout() + laneway.stderr()).not.toMatch(/ioredis:/)
})
