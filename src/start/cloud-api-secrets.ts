// The two secrets of cloud-api webhooks, for an `npm start` where the simulator plays the chat product.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { readJsonFile, writeJsonFile } from './json-file.ts'

const secretsSchema = z.object({ app_secret: z.string().min(1), verify_token: z.string().min(1) })

/** The configured ones; for what is not configured, one made once in `<data dir>/cloud-api.json`. */
export function cloudApiSecrets(config: Config): { appSecret: string; verifyToken: string } {
  const path = join(config.dataDir, 'cloud-api.json')
  let kept = readJsonFile(path, secretsSchema)
  if (kept === undefined) {
    kept = { app_secret: randomBytes(32).toString('hex'), verify_token: randomBytes(16).toString('hex') }
    writeJsonFile(path, kept)
  }
  return {
    appSecret: config.cloudApi.appSecret ?? kept.app_secret,
    verifyToken: config.cloudApi.verifyToken ?? kept.verify_token,
  }
}
