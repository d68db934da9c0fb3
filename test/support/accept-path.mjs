// Prints, as JSON, the files of dist/ that run while a built producer accepts one message: those of which V8 counts a call
// between the request and its answer. Of several messages it is the one with the fewest, since others come while what is
// known for a second is read anew. `node test/support/accept-path.mjs unix:///…/redis.sock` on an empty Redis.
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Once caches are filled and scripts loaded, every message takes the same way. */
const WARM_UP = 50
const MEASURED = 9

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
const load = (path) => import(join(DIST, path))
const [redisUrl] = process.argv.slice(2)
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-accept-'))
process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))

const { loadConfig } = await load('config.js')
const { createLog } = await load('log.js')
const config = loadConfig({ PORT: '0', LANEWAY_DATA_DIR: dataDir, LANEWAY_LOG_LEVEL: 'silent' })
const producer = await (await load('producer/main.js')).startProducer(config, redisUrl, createLog(config, 'producer'))

const redis = (await load('redis/connect.js')).connectWithRetry(redisUrl)
const { createSeal, secretKeysOf } = await load('accounts/seal.js')
const account = await (await load('accounts/store/accounts.js')).createAccount(redis, 'shop')
await (await load('accounts/store/add-sender.js')).addSender(redis, {
  account,
  number: '447700900001',
  name: 'shop',
  provider: 'partner-api',
  baseUrl: 'http://127.0.0.1:9',
  phoneNumberId: '',
  rate: 80,
  honoursIdempotency: false,
  isDefault: true,
  sealedToken: createSeal(secretKeysOf(config)).encrypt('token'),
})
const { createCredential } = await load('accounts/store/credentials.js')
const { secret } = await createCredential(redis, account, ['messages:send'], Date.now())

async function send() {
  const answer = await fetch(`${producer.url}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      api_key: secret,
      to: '+44 7700 900123',
      recipient_type: 'individual',
      messaging_product: 'chatapp',
      type: 'image',
      image: { link: 'https://files.example/cat.png', caption: 'A cat' },
    }),
  })
  if (answer.status !== 200) throw new Error(await answer.text())
  await answer.arrayBuffer()
}

for (let sent = 0; sent < WARM_UP; sent += 1) await send()
const session = new Session()
session.connect()
await session.post('Profiler.enable')

async function filesOfOne() {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await send()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  return result
    .filter(({ functions }) => functions.some(({ ranges: [whole] }) => whole.count > 0))
    .flatMap(({ url }) => (url.startsWith('file:') ? [relative(DIST, fileURLToPath(url))] : []))
    .filter((path) => !path.startsWith('..'))
    .sort()
}

const each = []
for (let measured = 0; measured < MEASURED; measured += 1) each.push(await filesOfOne())
each.sort((one, other) => one.length - other.length)
process.stdout.write(`${JSON.stringify(each[0], null, 2)}\n`)
session.disconnect()
redis.disconnect()
await producer.close()
