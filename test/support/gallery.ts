// A gallery with an account, keys and a folder or two, behind real HTTP, on a private Redis and a folder of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential, type Permission } from '../../src/accounts/credentials.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { addFile, type GalleryFile } from '../../src/gallery/files.ts'
import { createFolder, type Folder } from '../../src/gallery/folders.ts'
import { startMoves } from '../../src/gallery/moves.processor.ts'
import { fileRoutes, folderRoutes } from '../../src/producer/api/gallery/handlers.ts'
import { openBulkMoves } from '../../src/producer/api/gallery/moves.ts'
import { GALLERY } from '../../src/producer/api/gallery/routes.ts'
import { connectFailFast, connectWithRetry, readyOrLate } from '../../src/redis/connect.ts'
import { apiClient } from './api.ts'
import { silentLog, startApp, UNLIMITED } from './app.ts'
import { startRedis } from './redis.ts'

export const UPLOAD_MAX_BYTES = 200_000

/** What every test looks at first; the rest of an answer is in `json`. */
export interface Reply {
  status: number
  headers: Headers
  json: Record<string, unknown>
}

const jsonSchema = z.record(z.string(), z.unknown())
export type TestGallery = Awaited<ReturnType<typeof startGallery>>

/** Bulk moves wait longer than any test may last, so that a move whose end is not heard of fails its test. */
export async function startGallery({ bulkMoveWaitMs = 120_000, log = silentLog } = {}) {
  const server = await startRedis()
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-data-'))
  const redis = connectFailFast(server.url)
  redis.on('error', () => {})
  await readyOrLate(redis, 300_000)
  const patient = connectWithRetry(server.url)
  patient.on('error', () => {})
  const moves = openBulkMoves(redis)
  const files = openFolder(dataDir)
  const config = { files, publicUrl: undefined, uploadMaxBytes: UPLOAD_MAX_BYTES, bulkMoveWaitMs, limits: UNLIMITED }
  const app = await startApp(redis, [...folderRoutes({ redis }), ...fileRoutes({ redis, config, moves })], log)
  const account = await createAccount(redis, 'ours')
  const otherAccount = await createAccount(redis, 'theirs')
  const key = async (owner: number, permissions: Permission[], expiresAtMs = 0) =>
    (await createCredential(redis, owner, permissions, Date.now(), expiresAtMs)).secret
  const token = await key(account, ['gallery'])
  let worker: { stop(limitMs: number): Promise<void> } | undefined

  return {
    url: app.url,
    base: app.url + GALLERY,
    server,
    redis,
    dataDir,
    account,
    otherAccount,
    token,
    systemToken: await key(account, ['gallery', 'gallery:system']),
    otherToken: await key(otherAccount, ['gallery']),
    wrongToken: await key(account, ['messages:send']),
    expiredToken: await key(account, ['gallery'], Date.now() - 1),

    async startWorker(): Promise<void> {
      worker = await startMoves({ redis: patient, log: silentLog })
    },

    /** Sends JSON, or whatever `body` is when it is not a plain object, to a path below the gallery's address. */
    async call(
      method: string,
      path: string,
      options: { body?: unknown; token?: string | null; headers?: Record<string, string> } = {},
    ): Promise<Reply> {
      const api = apiClient(app.url, options.token === undefined ? token : (options.token ?? undefined))
      const at = path.startsWith(app.url) ? path.slice(app.url.length) : GALLERY + path
      const { status, headers, json } = await api.request(method, at, options.body, options.headers)
      return { status, headers, json: jsonSchema.parse(json) }
    },

    folder: (name: string, more: { isSystem?: boolean; owner?: number } = {}): Promise<Folder> =>
      createFolder(redis, more.owner ?? account, { name, isSystem: more.isSystem ?? false }),

    async file(
      folder: Folder,
      name = 'note.txt',
      content: string | Uint8Array = `content of ${name}`,
    ): Promise<GalleryFile> {
      return addFile(redis, files, folder.account, folder.id, name, await receive(files, [Buffer.from(content)]))
    },

    async close(): Promise<void> {
      await app.close()
      await worker?.stop(10_000)
      await moves.close()
      redis.disconnect()
      patient.disconnect()
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
