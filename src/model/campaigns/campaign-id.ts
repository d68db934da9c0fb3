// Campaign ids: `cmp_<lane>_<number>`. The number is short because every message record of the campaign holds it.

/** The parts of a campaign's id. `lane` is the number of its sender; `number` is unique in the installation. */
export interface CampaignId {
  lane: number
  number: number
}

const SHAPE = /^cmp_([1-9]\d{0,14})_([1-9]\d{0,14})$/

/** `cmp_<lane>_<number>`. */
export const campaignId = (id: CampaignId): string => `cmp_${id.lane}_${id.number}`

/** The parts of a campaign id, or undefined for any other string. */
export function parseCampaignId(text: string): CampaignId | undefined {
  const match = SHAPE.exec(text)
  return match ? { lane: Number(match[1]), number: Number(match[2]) } : undefined
}
