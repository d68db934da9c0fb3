// What was seeded, kept in the data folder: keys are stored in Redis as hashes only, so this file is the one place that
// can show them again after a restart. One file per Redis, because switching REDIS_URL back and forth must lose none.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { readJsonFile, writeJsonFile } from './json-file.ts'

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

/** Everything that demo.json says but for the addresses, which may change with every start. */
export const recordSchema = z.object({
  main: accountSchema.extend({
    admin_key: z.string(),
    /** Of the whole installation, for the console; a record of an earlier version has none yet. */
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

const PRIVATE = 'private'

const pathOf = (dataDir: string, redisUrl: string | undefined): string => {
  const name = redisUrl === undefined ? PRIVATE : createHash('sha256').update(redisUrl).digest('hex').slice(0, 12)
  return join(dataDir, `demo-keys.${name}.json`)
}

/** The record of this Redis (undefined: the private one), `seeding`, or undefined when none was ever begun. */
export function readDemoRecord(dataDir: string, redisUrl: string | undefined): DemoRecord | 'seeding' | undefined {
  const content = readJsonFile(pathOf(dataDir, redisUrl), fileSchema)
  return content !== undefined && 'state' in content ? 'seeding' : content
}

/** Replaces the record of this Redis (undefined: the private one), whole or not at all. */
export function writeDemoRecord(
  dataDir: string,
  redisUrl: string | undefined,
  record: DemoRecord | { state: 'seeding' },
): void {
  writeJsonFile(pathOf(dataDir, redisUrl), record)
}
