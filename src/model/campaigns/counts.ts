// What a campaign counts besides the states of its messages. Pure.

/** The field of each in the hash of its counts; those of states are the letters of messages/lifecycle.ts. */
export const ASIDE = {
  /** Of the failed, unconfirmed and unknown, those that say nothing about the campaign (exempt.ts). */
  exempt: 'exempt',
  /** Of the sent, those that WhatsApp holds. */
  held: 'held',
  /** Of the failed, those to people who have had enough marketing. */
  capped: 'capped',
  /** People who have answered. */
  replied: 'replied',
} as const
