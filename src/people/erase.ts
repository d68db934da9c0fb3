// Forgetting a person of an account, everywhere that anything is kept of them. Each part may be done any number of times:
// whoever takes over after a crash begins anew and finds only what is left.
import { keptLanes } from '../accounts/store/kept-lanes.ts'
import { eraseContact } from '../contacts/store/contact-of-person.ts'
import type { Log } from '../log.ts'
import { eraseInCampaigns } from './erase-campaigns.ts'
import { type EraseDeps, eraseMessages } from './erase-messages.ts'
import { eraseInRefusedJobs } from './erase-refused-jobs.ts'
import { countErased } from './erasures.ts'
import { eraseOptOut } from './opt-outs/store/opt-outs.ts'

/** Whom to forget, and the id of the job that does it. */
export interface Forgotten {
  id: string
  account: number
  person: string
  nowMs: number
}

/**
 * Forgets what can be forgotten now. True once nothing is left; false when a message is being sent or a campaign being
 * checked, which must be looked at again. The person must have been buried before (tombstones.ts), so that no campaign
 * comes to them behind this.
 */
export async function erasePerson(deps: EraseDeps & { log: Log }, of: Forgotten): Promise<boolean> {
  const { redis } = deps
  const { id, account, person } = of
  // First: a preflight that begins from now on does not find the person.
  if (await eraseContact(redis, account, person)) await countErased(redis, id, 'contacts', 1)
  // Never written to again means that: only who it was is forgotten.
  await eraseOptOut(redis, account, person)
  const lanes = await keptLanes(redis, account)
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
  // Not counted: they may be of other accounts, and how many those have is nobody else's business.
  await eraseInRefusedJobs(redis, person)
  return busy === 0
}
