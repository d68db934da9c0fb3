// A producer as a process of its own, as a client that means harm meets it: with keys, a large file, a campaign, and
// its log, memory and descriptors in view.

import { readdirSync } from 'node:fs'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { openFolder } from '../../src/files/folder.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { apiClient } from './api.ts'
import { newDataDir } from './laneway.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { startRedis } from './redis.ts'
import { credentialRecords } from './state/accounts.ts'
import { eventually } from './wait.ts'

export const APP_SECRET = 'app-secret'
export const GALLERY = '/partners/wp-gallery/manage'

export interface HostileGround {
  url: string
  process: TestProcess
  redis: Redis
  dataDir: string
  /** A key that may do everything. */
  key: string
  inventedKey: string
  /** Address of a file of 5 MB. */
  mediaPath: string
  folderId: number
  /** Bodies of uploads that are being received. */
  drafts: () => string[]
  /** Lines of the log that say that something of ours went wrong. */
  faults: () => string[]
  stop: () => Promise<void>
}

/** Starts it. `preload` is a module that the process loads first, as text. */
export async function startHostileGround({ preload }: { preload?: string } = {}): Promise<HostileGround> {
  const server = await startRedis()
  const folder = newDataDir()
  const redis = connectWithRetry(server.url)
  redis.on('error', () => {})
  const account = await createAccount(redis, 'victim')
  const { secret: key } = await createCredential(redis, account, [...PERMISSIONS], Date.now())
  // Made like any other, and then unknown.
  const invented = await createCredential(redis, account, ['admin'], Date.now())
  for (const found of await credentialRecords(redis)) {
    if ((await found.field('id')) === invented.id) await found.remove()
  }
  const loaded = preload === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
  const producer = startProcess(process.execPath, ['--max-old-space-size=1024', ...loaded, 'dist/start/producer.js'], {
    REDIS_URL: server.url,
    LANEWAY_DATA_DIR: folder.dataDir,
    PORT: '0',
    LANEWAY_CLOUD_API_APP_SECRET: APP_SECRET,
  })
  const url = await eventually(
    async () => /"url":"(http:[^"]+)"/.exec(producer.stdout())?.[1],
    'it says where it listens',
    120_000,
  )
  const api = apiClient(url, key)
  const made = z.object({ data: z.object({ id: z.number(), url: z.string().default('') }) })
  const folderId = made.parse((await api.post(`${GALLERY}/folders`, { name: 'media' })).json).data.id
  const form = new FormData()
  form.set('folder_id', String(folderId))
  form.set('file', new Blob([Buffer.alloc(5_000_000, 'a line of a large file\n')]), 'large.txt')
  const upload = await api.post(`${GALLERY}/files`, form)
  const mediaPath = new URL(made.parse(upload.json).data.url).pathname

  return {
    ...{
      url,
      process: producer,
      redis,
      dataDir: folder.dataDir,
      key,
      inventedKey: invented.secret,
      mediaPath,
      folderId,
    },
    drafts: () => readdirSync(openFolder(folder.dataDir).drafts),
    faults: () =>
      producer
        .stdout()
        .split('\n')
        .filter((line) => /"level":[56]0/.test(line)),
    async stop() {
      producer.kill('SIGTERM')
      await producer.ended
      redis.disconnect()
      await folder.remove()
      await server.stop()
    },
  }
}
