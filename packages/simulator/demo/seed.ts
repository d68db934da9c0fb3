// Stores the demo data: everything that data.ts describes, through the same functions that serve people's own data.
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createAccount, setAccountSettings } from '../../../src/accounts/accounts.ts'
import { addSender, type NewSender, removeSender, SenderTakenError } from '../../../src/accounts/add-sender.ts'
import { createCredential } from '../../../src/accounts/credentials.ts'
import { importTemplate } from '../../../src/accounts/templates.ts'
import { receive } from '../../../src/files/drafts.ts'
import type { FileStore } from '../../../src/files/store.ts'
import { addFile, trashFile } from '../../../src/gallery/files.ts'
import { createFolder } from '../../../src/gallery/folders.ts'
import type { Seal } from '../../../src/kernel/seal.ts'
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { DEFAULT_RATE } from '../../../src/model/accounts/sender.ts'
import { importContacts } from '../../../src/people/contacts/contacts.ts'
import { createTag } from '../../../src/people/contacts/tags.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import type { DemoAccount } from './data.ts'
import { demoAccounts, demoFilesDir, demoKeys, readDemoTemplates, SIMULATOR_TOKEN } from './data.ts'
import { type DemoRecord, recordSchema } from './record.ts'

const HOUR_MS = 3_600_000

interface Deps {
  redis: Redis
  seal: Seal
  files: FileStore
  simulatorUrl: string
  nowMs: number
}

type SeededGallery = Pick<DemoRecord['main'], 'folder_ids' | 'file_ids'> &
  Partial<Pick<DemoRecord['main'], 'system_folder_id' | 'trashed_file_id' | 'trashed_file_folder_id'>>

/** Creates both demo accounts and returns everything that demo.json has about them. */
export async function seedDemo(deps: Deps): Promise<DemoRecord> {
  const main = await seedAccount(deps, demoAccounts.main)
  const record = {
    main: { ...main, ...(await mainKeys(deps, main.account_id)) },
    other: await seedAccount(deps, demoAccounts.other),
  }
  // Drops what is recorded for the main account only, so that the first start shows exactly what later ones will.
  return recordSchema.parse(record)
}

async function seedAccount(deps: Deps, account: DemoAccount) {
  const { redis } = deps
  const account_id = await createAccount(redis, account.name)
  await setAccountSettings(redis, account_id, { contacts_shape: account.contactsShape })
  const sender_ids = await seedSenders(deps, account_id, account)
  const templates = readDemoTemplates()
  for (const template of templates) await importTemplate(redis, account_id, template)
  return {
    account_id,
    api_key: await keyFor(deps, account_id, 'api_key'),
    access_token: await keyFor(deps, account_id, 'access_token'),
    auth_token: await keyFor(deps, account_id, 'auth_token'),
    sender: account.senders.find((sender) => sender.isDefault)?.number,
    sender_ids,
    ...(await seedGallery(deps, account_id, account)),
    tag_ids: await seedContacts(deps, account_id, account),
    templates: templates.map((template) => template.name),
  }
}

async function mainKeys(deps: Deps, account: number) {
  const anHourAgo = deps.nowMs - HOUR_MS
  return {
    admin_key: await keyFor(deps, account, 'admin_key'),
    expired_api_key: await keyFor(deps, account, 'api_key', anHourAgo),
    expired_access_token: await keyFor(deps, account, 'access_token', anHourAgo),
    expired_auth_token: await keyFor(deps, account, 'auth_token', anHourAgo),
  }
}

async function keyFor(deps: Deps, account: number, name: keyof typeof demoKeys, expiresAtMs = 0): Promise<string> {
  const label = `demo ${name.replaceAll('_', ' ')}${expiresAtMs === 0 ? '' : ', expired'}`
  return (await createCredential(deps.redis, account, demoKeys[name], deps.nowMs, expiresAtMs, label)).secret
}

async function seedSenders(deps: Deps, account: number, { senders }: DemoAccount): Promise<number[]> {
  const queues = openLaneQueues(deps.redis)
  const ids: number[] = []
  for (const sender of senders) {
    const id = await addOrTakeOver(deps.redis, {
      ...sender,
      account,
      baseUrl: deps.simulatorUrl,
      sealedToken: deps.seal.encrypt(SIMULATOR_TOKEN),
      rate: DEFAULT_RATE,
      honoursIdempotency: false,
    })
    ids.push(id)
  }
  await queues.close()
  return ids
}

const notBusy = async (): Promise<undefined> => undefined

/** A start that was killed while it seeded has left its senders to an account that nobody uses. */
async function addOrTakeOver(redis: Redis, sender: NewSender): Promise<number> {
  try {
    return await addSender(redis, sender)
  } catch (error) {
    if (!(error instanceof SenderTakenError)) throw error
    await removeSender(redis, error.holder, HOUR_MS, { whyBusy: notBusy, close: notBusy })
    return addSender(redis, sender)
  }
}

async function seedGallery(deps: Deps, account: number, { folders }: DemoAccount) {
  const gallery: SeededGallery = { folder_ids: [], file_ids: [] }
  for (const { name, isSystem = false, files, trash } of folders) {
    const { id } = await createFolder(deps.redis, account, { name, isSystem })
    if (isSystem) gallery.system_folder_id = id
    else gallery.folder_ids.push(id)
    for (const file of files) gallery.file_ids.push(await seedFile(deps, account, id, file))
    for (const file of trash) {
      gallery.trashed_file_id = await seedFile(deps, account, id, file)
      gallery.trashed_file_folder_id = id
      await trashFile(deps.redis, account, gallery.trashed_file_id)
    }
  }
  return gallery
}

async function seedFile(deps: Deps, account: number, folder: number, name: string): Promise<number> {
  const content = await receive(deps.files, createReadStream(join(demoFilesDir, name)))
  return (await addFile(deps.redis, deps.files, account, folder, name, content)).id
}

async function seedContacts(deps: Deps, account: number, { tags, contacts }: DemoAccount): Promise<number[]> {
  const ids: number[] = []
  for (const tag of tags) {
    const { id } = await createTag(deps.redis, account, tag.name)
    await importContacts(
      deps.redis,
      account,
      id,
      tag.contacts.flatMap((place) => contacts[place] ?? []),
    )
    ids.push(id)
  }
  return ids
}
