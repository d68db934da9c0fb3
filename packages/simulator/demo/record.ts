// What the demo keeps in the data folder.
//
//   demo.json            for people and programs; there exactly while the service is ready
//   demo-keys.<n>.json   the keys that were seeded: Redis holds hashes of them only, so no other place can show them again
//   cloud-api.json       the two secrets of cloud-api webhooks, as the simulator plays WhatsApp
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Config } from '../../../src/kernel/config.ts'
import { readJsonFile, writeJsonFile } from '../../../src/start/data-folder.ts'

const ids = z.array(z.number().int().positive())

const accountSchema = z.object({
  account_id: z.number().int().positive(),
  api_key: z.string(),
  access_token: z.string(),
  auth_token: z.string(),
  /** Digits of the default sender. */
  sender: z.string(),
  /** Lanes of all senders; not part of demo.json. */
  sender_ids: ids,
  folder_ids: ids,
  file_ids: ids,
  tag_ids: ids,
})

/** Everything in demo.json but the addresses, which may change with every start. */
export const recordSchema = z.object({
  main: accountSchema.extend({
    admin_key: z.string(),
    /** Of the whole installation, for the console. */
    operator_key: z.string().optional(),
    expired_api_key: z.string(),
    expired_access_token: z.string(),
    expired_auth_token: z.string(),
    system_folder_id: z.number().int().positive(),
    trashed_file_id: z.number().int().positive(),
    trashed_file_folder_id: z.number().int().positive(),
    templates: z.array(z.string()),
    inbound_message_id: z.string().optional(),
  }),
  other: accountSchema,
})
export type DemoRecord = z.output<typeof recordSchema>

/** `seeding`: begun and not finished, as after a kill -9; what is there of it is of no use to anybody. */
const fileSchema = z.union([z.object({ state: z.literal('seeding') }), recordSchema])

/** One file per Redis, because switching REDIS_URL back and forth must lose none; undefined is the private one. */
function recordPath(dataDir: string, redisUrl: string | undefined): string {
  const name = redisUrl === undefined ? 'private' : createHash('sha256').update(redisUrl).digest('hex').slice(0, 12)
  return join(dataDir, `demo-keys.${name}.json`)
}

/** The record of this Redis, `seeding`, or undefined when none was ever begun. */
export function readDemoRecord(dataDir: string, redisUrl: string | undefined): DemoRecord | 'seeding' | undefined {
  const content = readJsonFile(recordPath(dataDir, redisUrl), fileSchema)
  return content !== undefined && 'state' in content ? 'seeding' : content
}

/** Replaces the record of this Redis, whole or not at all. */
export function writeDemoRecord(
  dataDir: string,
  redisUrl: string | undefined,
  record: DemoRecord | { state: 'seeding' },
): void {
  writeJsonFile(recordPath(dataDir, redisUrl), record)
}

/** Addresses of a running service. */
export interface Urls {
  base: string
  redis: string
  simulator: string
}

const demoPath = (dataDir: string): string => join(dataDir, 'demo.json')

/** Removes demo.json; does nothing when there is none. */
export function removeDemoFile(dataDir: string): void {
  rmSync(demoPath(dataDir), { force: true })
}

/** Writes demo.json and returns its path. */
export function writeDemoFile(dataDir: string, urls: Urls, demo: DemoRecord): string {
  const { sender_ids: _lanes, ...main } = demo.main
  const { sender_ids: _otherLanes, ...other } = demo.other
  const path = demoPath(dataDir)
  const addresses = { base_url: urls.base, redis_url: urls.redis, simulator_url: urls.simulator }
  writeJsonFile(path, { ...addresses, ...main, other_account: other })
  return path
}

const secretsSchema = z.object({ app_secret: z.string().min(1), verify_token: z.string().min(1) })

/** The configured secrets of cloud-api webhooks; those that are not configured are made once and kept. */
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
