// Settings that are right each by itself and wrong together. Pure.

/** The durations that depend on each other, in ms. */
interface Durations {
  retentionMs: number
  receivedRetentionMs: number
  validityMs: Readonly<Record<'transactional' | 'campaign', number>>
}

/** A sentence about the first two settings that contradict each other, if any do. */
export function contradictionOf(
  { retentionMs, receivedRetentionMs, validityMs }: Durations,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  // Which of them seals would be anybody's guess.
  if (env.LANEWAY_SECRET_KEYS?.trim() && env.LANEWAY_SECRET_KEY) {
    return 'Set LANEWAY_SECRET_KEYS or LANEWAY_SECRET_KEY, not both.'
  }
  // A record that ends before its message could be claimed again by somebody who does not know that it went out.
  if (Math.max(validityMs.transactional, validityMs.campaign) > retentionMs) {
    return 'LANEWAY_VALIDITY_TRANSACTIONAL_SECONDS and LANEWAY_VALIDITY_CAMPAIGN_SECONDS must not be longer than LANEWAY_RETENTION_DAYS.'
  }
  // What lists find them by ends with the messages that were sent.
  if (receivedRetentionMs > retentionMs) {
    return 'LANEWAY_RETENTION_RECEIVED_DAYS must not be more than LANEWAY_RETENTION_DAYS.'
  }
  return undefined
}
