// A text that was given for a campaign and that no message has: most often the name of one, which is found by its id.
import { listAccounts } from '../accounts/accounts.ts'
import { listCampaigns } from '../campaigns/store/list.ts'
import { quoted } from '../kernel/fault.ts'
import { idOf } from '../recipients/campaigns.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'

/** Of each account so many of the latest are looked through. */
const LATEST = 1_000
/** Ids that the sentence names. */
const NAMED = 3

/** The sentence when no message has the text. Throws a CliFailure when campaigns are called so: the text was meant as a name. */
export async function noneWithCampaignId(redis: Redis, account: number | undefined, text: string): Promise<string> {
  const none = `No message has the campaign_id ${quoted(text)}`
  const ids: string[] = []
  for (const id of account === undefined ? (await listAccounts(redis)).map((each) => each.id) : [account]) {
    for await (const page of listCampaigns(redis, id, { offset: 0, limit: LATEST })) {
      ids.push(...page.filter(({ definition }) => definition.name === text).map(idOf))
    }
  }
  if (ids.length === 0) return `${none}. The messages of a campaign are found by its id, see \`campaigns list\`.`
  throw new CliFailure(`${none}; it is the name of ${ids.slice(0, NAMED).join(', ')}: name the campaign by its id.`)
}
