// `campaigns resume --class` a second time sends to everybody of the class again, also to those whom the first time has
// reached: the class is that of the campaign that is resumed, whatever happened since. So a person is asked.
import type { ResumeClass } from '../../campaigns/definition.ts'
import { type Campaign, idOf } from '../../campaigns/store/campaigns.ts'
import { type ListedCampaign, listCampaigns } from '../../campaigns/store/list.ts'
import { confirm } from '../confirm.ts'
import type { CommandContext } from '../verb.ts'

/** Asks when the class of this campaign was resumed before; a CliFailure when the person does not agree. */
export async function confirmSecondRun(context: CommandContext, campaign: Campaign, only: ResumeClass): Promise<void> {
  const earlier = await earlierRun(context, campaign, only)
  if (earlier === undefined) return
  const [made, source] = [idOf(earlier), idOf(campaign)]
  await confirm(context, {
    sentence: `${made} was made for the ${only.replace('_', ' ')} recipients of ${source} already, and another one sends to all of them again`,
    otherwise: `Resume ${made} with a class for those it did not reach, or confirm with --yes.`,
    declined: 'Nothing was sent.',
  })
}

async function earlierRun(
  { redis }: CommandContext,
  campaign: Campaign,
  only: ResumeClass,
): Promise<ListedCampaign | undefined> {
  const source = idOf(campaign)
  const isEarlier = ({ definition: { recipients }, state, started_at }: ListedCampaign): boolean =>
    'campaign' in recipients &&
    recipients.campaign === source &&
    recipients.class === only &&
    // One that ended before it started has sent nothing.
    (state !== 'cancelled' || started_at !== undefined)
  for await (const page of listCampaigns(redis, campaign.account, { offset: 0, limit: Number.MAX_SAFE_INTEGER })) {
    const found = page.find(isEarlier)
    if (found !== undefined) return found
  }
  return undefined
}
