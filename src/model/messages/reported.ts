// When something happened that is reported later, as in a webhook. Pure.

/** When it happened (epoch ms, by WhatsApp's clock); `isRepeated`: this was reported before. */
export interface Reported {
  atMs: number
  isRepeated: boolean
}

/**
 * The latest that it can have happened: WhatsApp tells whole seconds. What it has told before is held to the beginning of its
 * second, so that it is over sooner.
 */
export const latestOf = ({ atMs, isRepeated }: Reported): number => (isRepeated ? atMs : atMs + 999)
