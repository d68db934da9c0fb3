// Demo data at start: seeded once, on a Redis that holds no account yet, and found again by every later start.

import { z } from 'zod'
import { listAccounts } from '../../../src/accounts/accounts.ts'
import { createCredential, findCredential } from '../../../src/accounts/credentials.ts'
import { setSenderAccess } from '../../../src/accounts/senders.ts'
import { openFiles } from '../../../src/files/open.ts'
import type { Config } from '../../../src/kernel/config.ts'
import type { Log } from '../../../src/kernel/log.ts'
import type { Seal } from '../../../src/kernel/seal.ts'
import { createSeal } from '../../../src/kernel/seal.ts'
import { secretKeysOf } from '../../../src/kernel/secret-keys.ts'
import { NO_ACCOUNT, OPERATOR } from '../../../src/model/accounts/permissions.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { connectWithRetry } from '../../../src/redis/connect.ts'
import { waitUntil } from '../../../src/start/processes.ts'
import { StartError } from '../../../src/start/start-error.ts'
import { demoAccounts, inboundMessage, SIMULATOR_TOKEN } from './data.ts'
import type { DemoRecord } from './record.ts'
import { readDemoRecord, writeDemoRecord } from './record.ts'
import { seedDemo } from './seed.ts'

const INBOUND_LIMIT_MS = 10_000

/**
 * The demo accounts on this Redis, seeded if need be; undefined when it holds accounts that are not in this data folder.
 * `config.redisUrl` is the configured Redis, `redisUrl` the address in use.
 */
export async function openDemo(
  config: Config,
  redisUrl: string,
  simulatorUrl: string,
  log: Log,
): Promise<DemoRecord | undefined> {
  const { dataDir } = config
  const redis = connectWithRetry(redisUrl)
  redis.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  const seal = createSeal(secretKeysOf(config))
  const files = await openFiles(config)
  try {
    const known = readDemoRecord(dataDir, config.redisUrl)
    if (known !== undefined && known !== 'seeding' && (await findCredential(redis, known.main.api_key))) {
      await pointSenders(redis, seal, known, simulatorUrl)
      return await withOperator(redis, config, known)
    }
    if (known !== 'seeding' && (await listAccounts(redis)).length > 0) return undefined
    // Killed from here on, the next start finds `seeding`, leaves the half-made accounts alone and makes new ones.
    writeDemoRecord(dataDir, config.redisUrl, { state: 'seeding' })
    const record = await seedDemo({ redis, seal, files, simulatorUrl, nowMs: Date.now() })
    writeDemoRecord(dataDir, config.redisUrl, record)
    log.info({ accounts: [record.main.account_id, record.other.account_id] }, 'demo.seeded')
    return await withOperator(redis, config, record)
  } finally {
    files.close()
    redis.disconnect()
  }
}

/** The record with a key for the console, made and written down unless there is one. */
async function withOperator(redis: Redis, config: Config, demo: DemoRecord): Promise<DemoRecord> {
  const known = demo.main.operator_key
  if (known !== undefined && (await findCredential(redis, known))) return demo
  // Dying before it is written leaves a key that nobody has on the list, where it can be revoked.
  const { secret } = await createCredential(redis, NO_ACCOUNT, [OPERATOR], Date.now(), 0, 'demo operator key')
  const record = { ...demo, main: { ...demo.main, operator_key: secret } }
  writeDemoRecord(config.dataDir, config.redisUrl, record)
  return record
}

/** The simulator may have got another port, LANEWAY_SECRET_KEY may have changed: the demo senders follow. */
async function pointSenders(redis: Redis, seal: Seal, demo: DemoRecord, simulatorUrl: string): Promise<void> {
  for (const id of [...demo.main.sender_ids, ...demo.other.sender_ids]) {
    await setSenderAccess(redis, id, { baseUrl: simulatorUrl, sealedToken: seal.encrypt(SIMULATOR_TOKEN) })
  }
}

/**
 * Has the simulator deliver a message to the demo account through the signed webhook, unless one is there from an
 * earlier start, and returns the record with its id.
 */
export async function receiveDemoMessage(
  config: Config,
  demo: DemoRecord,
  urls: { base: string; simulator: string },
): Promise<DemoRecord> {
  const before = demo.main.inbound_message_id
  if (before !== undefined && (await isThere(urls.base, demo.main.api_key, before))) return demo
  const sender = demoAccounts.main.senders.find((each) => each.provider === 'cloud-api')?.phoneNumberId
  const { id } = inboundAnswer.parse(await post(`${urls.simulator}/_inbound`, { sender, ...inboundMessage }))
  // The simulator repeats a webhook that was not taken at once, under the same id.
  if (!(await waitUntil(() => isThere(urls.base, demo.main.api_key, id), INBOUND_LIMIT_MS))) {
    throw new StartError('The received message of the demo did not arrive through the webhook; start again.')
  }
  const record = { ...demo, main: { ...demo.main, inbound_message_id: id } }
  writeDemoRecord(config.dataDir, config.redisUrl, record)
  return record
}

const inboundAnswer = z.object({ id: z.string() })
const lookupAnswer = z.object({ status: z.boolean() })

async function isThere(baseUrl: string, apiKey: string, messageId: string): Promise<boolean> {
  const body = { api_key: apiKey, message_id: messageId }
  return lookupAnswer.parse(await post(`${baseUrl}/chatappbusiness/fetchmessageinfo`, body)).status
}

async function post(url: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  return answer.json()
}
