// Erases a person of an account everywhere. Each part is idempotent: a process that takes over after a crash starts again and finds only
// the rest.

import { retainedLanes } from '../accounts/retained-lanes.ts'
import { filesSentBy } from '../gallery/received-media.ts'
import { removeFile } from '../gallery/remove-files.ts'
import type { Log } from '../kernel/log.ts'
import { deleteContact } from '../people/contacts/contacts.ts'
import { forgetNames, namesOf } from '../people/names/names.ts'
import { makeErasedHmacs } from '../people/opt-outs/erased.ts'
import { eraseOptOut } from '../people/opt-outs/opt-outs.ts'
import { forgetCap } from '../portfolios/caps.ts'
import { listPortfolios } from '../portfolios/portfolios.ts'
import type { Redis } from '../redis/connect.ts'
import { eraseInCampaigns } from './erase-campaigns.ts'
import { type EraseDeps, eraseMessages } from './erase-messages.ts'
import { countErased } from './erasures.ts'
import { eraseInRefusedJobs } from './refused-jobs.ts'

/** The person to erase, and the id of the job. */
export interface Forgotten {
  id: string
  account: number
  /** Any name of theirs. */
  person: string
  nowMs: number
}

/**
 * Erases what can be erased now. True once nothing is left; false when a message is being sent or a campaign checked, which must be tried
 * again. The tombstone must exist before (tombstones.ts), so that no campaign reaches the person afterwards.
 */
export async function erasePerson(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<boolean> {
  const { redis } = deps
  const { account, person } = of
  const names = await namesOf(redis, account, person)
  let busy = 0
  for (const name of names) busy += await eraseName(deps, { ...of, person: name })
  // The opt-out stays in force: only the name is erased.
  await eraseOptOut(redis, account, names)
  const lanes = await retainedLanes(redis, account)
  for (const lane of lanes) await forgetCap(redis, { lane }, names)
  for (const { id: portfolio } of await listPortfolios(redis, account)) await forgetCap(redis, { portfolio }, names)
  // Last, once nothing else of the person is left to find.
  if (busy === 0) await forgetNames(redis, account, names)
  return busy === 0
}

/** Erases the data of one name, and returns how much must be tried again. */
async function eraseName(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<number> {
  const { redis } = deps
  const { id, account, person } = of
  // First, so that a preflight that begins from now on does not find the person.
  if (await deleteContact(redis, account, { phone: person })) await countErased(redis, id, 'contacts', 1)
  const lanes = await retainedLanes(redis, account)
  const inFiles = await eraseInCampaigns(deps, new Set(lanes), person)
  await countErased(redis, id, 'recipients', inFiles.recipients)
  await countErased(redis, id, 'messages', inFiles.messages)
  let busy = inFiles.busy
  for (const lane of lanes) {
    const found = await eraseMessages(deps, { ...of, lane })
    await countErased(redis, id, 'messages', found.messages)
    await countErased(redis, id, 'received', found.received)
    busy += found.busy
  }
  await eraseFiles(redis, account, person)
  // Not counted: they may belong to other accounts, whose figures are private.
  await eraseInRefusedJobs(redis, person)
  return busy
}

/**
 * Removes the files that came with their messages. After the messages: a file that is being fetched for an erased message removes itself.
 */
async function eraseFiles(redis: Redis, account: number, person: string): Promise<void> {
  const [name = ''] = await makeErasedHmacs(redis, account, [person])
  for await (const files of filesSentBy(redis, account, name)) {
    for (const file of files) await removeFile(redis, account, file)
  }
}
