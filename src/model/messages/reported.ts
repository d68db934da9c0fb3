// When something happened that is reported later, as in a webhook. Pure.

/** When it happened (epoch ms, by WhatsApp's clock); `isRepeated`: this was reported before. */
export interface Reported {
  atMs: number
  isRepeated: boolean
}

/**
 * The latest time that it can have happened: WhatsApp reports whole seconds. A repeated report counts from the beginning of its second,
 * so that it passes sooner.
 */
export const latestOf = ({ atMs, isRepeated }: Reported): number => (isRepeated ? atMs : atMs + 999)
