// Columns of the list of campaigns that compare them by how far their messages came.
import { funnelOf } from './ledger.ts'
import { shareText } from './numbers.ts'

type OfCampaign = { progress: Parameters<typeof funnelOf>[0] }

/** A share of the funnel, so that campaigns can be compared. */
function shareColumn(title: 'Delivered' | 'Read' | 'Replied') {
  const stepOf = ({ progress }: OfCampaign) => funnelOf(progress)[title]
  return {
    ...{ title, number: true, wide: true },
    cell: (campaign: OfCampaign): string => shareText(stepOf(campaign).count, stepOf(campaign).of),
    sort: (campaign: OfCampaign): number => stepOf(campaign).count / Math.max(1, stepOf(campaign).of),
  }
}

/** Sorted by the share, not by the count. */
export const SHARE_COLUMNS = (['Delivered', 'Read', 'Replied'] as const).map(shareColumn)
