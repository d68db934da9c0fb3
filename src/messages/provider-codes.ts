// The chat product's error codes and what each means for a message: one table, read by outcome.ts. Source: the chat
// product's error reference and answers seen live; waits marked (ours) are our judgement, the reference gives none.

/** What a code asks of us. */
export type CodeRule =
  /** Proven unsent: the whole lane waits `seconds`, or as long as Retry-After says. */
  | { act: 'pause_lane'; seconds: number }
  /** Proven unsent: this message waits, and the try counts. */
  | { act: 'retry' }
  /** Proven unsent: this recipient waits 4^X seconds, X counting from 0; others go on. */
  | { act: 'delay_recipient' }
  /** Proven unsent: nothing of this sender can go out until a person fixes it. */
  | { act: 'block_sender' }
  /** Refused for good. */
  | { act: 'fail' }
  /** Says nothing of whether the message was taken. */
  | { act: 'unconfirmed' }

/** A code of the chat product: `means`, for a person, and what is done about it. */
export interface CodeEntry {
  means: string
  rule: CodeRule
  /** Proof of not sent whatever the HTTP status; the others prove it only with a status below 500. */
  provesUnsent?: true
}

/** The recipient has stopped the marketing of this business with the chat product. */
export const OPTED_OUT_THERE = '131050'

const pauseLane = (seconds: number): CodeRule => ({ act: 'pause_lane', seconds })
const blockSender: CodeRule = { act: 'block_sender' }
const fail: CodeRule = { act: 'fail' }
const unconfirmed: CodeRule = { act: 'unconfirmed' }

export const PROVIDER_CODES: ReadonlyMap<number, CodeEntry> = new Map<number, CodeEntry>([
  // Nothing is known of the message.
  [1, { means: 'unknown error of the chat product', rule: unconfirmed }],
  [2, { means: 'the chat product was down or overloaded', rule: unconfirmed }],
  [131000, { means: 'something went wrong at the chat product', rule: unconfirmed }],

  // Throttled.
  [4, { means: 'too many calls by the app', rule: pauseLane(60), provesUnsent: true }],
  [17, { means: 'too many calls by the user', rule: pauseLane(60) }],
  [341, { means: 'application limit reached', rule: pauseLane(60) }],
  [80007, { means: 'too many calls by the business account', rule: pauseLane(60), provesUnsent: true }],
  [80008, { means: 'too many calls by the business account', rule: pauseLane(60) }],
  [130429, { means: 'more messages per second than the number may send', rule: pauseLane(1), provesUnsent: true }],
  [131056, { means: 'too many messages to this recipient', rule: { act: 'delay_recipient' }, provesUnsent: true }],
  [131048, { means: 'the number is held back for spam', rule: pauseLane(3_600), provesUnsent: true }],
  [131057, { means: 'the account is in maintenance', rule: pauseLane(60), provesUnsent: true }],
  [133004, { means: 'the server is temporarily unavailable', rule: { act: 'retry' }, provesUnsent: true }],
  [131016, { means: 'the service is unavailable', rule: { act: 'retry' }, provesUnsent: true }],

  // Authentication, permission, policy, billing.
  [0, { means: 'the token cannot be authenticated', rule: blockSender }],
  [3, { means: 'the app lacks the capability', rule: blockSender }],
  [10, { means: 'permission denied', rule: blockSender }],
  [33, { means: 'the business number was deleted', rule: blockSender }],
  [104, { means: 'no token was sent', rule: blockSender }],
  [190, { means: 'the token has expired or is invalid', rule: blockSender }],
  [368, { means: 'the account is blocked for a policy violation', rule: blockSender }],
  [803, { means: 'the business number is not known there', rule: blockSender }],
  [131005, { means: 'access denied', rule: blockSender }],
  [131031, { means: 'the account is locked', rule: blockSender }],
  [131037, { means: 'the display name of the number is not approved', rule: blockSender }],
  [131042, { means: 'the business account cannot be billed', rule: blockSender }],
  [131045, { means: 'the number is not registered rightly', rule: blockSender }],
  [131064, { means: 'the account is limited for template misuse', rule: blockSender }],
  [133010, { means: 'the number is not registered', rule: blockSender }],
  [134011, { means: 'the terms of payment are not accepted', rule: blockSender }],

  // Permanent for this message.
  [100, { means: 'a parameter is not valid', rule: fail }],
  [130403, { means: 'the recipient has blocked the business', rule: fail }],
  [130472, { means: 'the recipient is part of an experiment and gets no marketing', rule: fail }],
  [130497, { means: "the business may not message the recipient's country", rule: fail }],
  [131008, { means: 'a required parameter is missing', rule: fail }],
  [131009, { means: 'a parameter value is not valid', rule: fail }],
  [131021, { means: 'the recipient is the sender', rule: fail }],
  [131026, { means: 'the message cannot be delivered to this recipient', rule: fail }],
  [131030, { means: 'the recipient is not in the list of test numbers', rule: fail }],
  [131047, { means: 'the recipient has not written in the last 24 hours', rule: fail }],
  [131049, { means: 'held back to keep the recipient from too much marketing', rule: fail }],
  [131050, { means: 'the recipient does not want marketing of this business', rule: fail }],
  [131051, { means: 'the message type is not supported', rule: fail }],
  [131052, { means: 'the media of the recipient could not be loaded', rule: fail }],
  [131053, { means: 'the media could not be loaded from its link', rule: fail }],
  [131055, { means: 'only marketing templates may go this way', rule: fail }],
  [131062, { means: 'this message needs a phone number as recipient', rule: fail }],
  [131063, { means: 'marketing templates are switched off for the account', rule: fail }],
  [132000, { means: 'the number of template parameters is wrong', rule: fail }],
  [132001, { means: 'the template does not exist in this language or is not approved', rule: fail }],
  [132005, { means: 'the filled-in template text is too long', rule: fail }],
  [132007, { means: 'the template violates the content policy', rule: fail }],
  [132008, { means: 'a template parameter value is not valid', rule: fail }],
  [132012, { means: 'a template parameter has the wrong format', rule: fail }],
  [132015, { means: 'the template is paused for low quality', rule: fail }],
  [132016, { means: 'the template is disabled', rule: fail }],
  [132018, { means: 'a template parameter is not valid', rule: fail }],
  [132068, { means: 'the flow is blocked', rule: fail }],
  [132069, { means: 'the flow is throttled', rule: fail }],
  [133000, { means: 'the deregistration of the number is not complete', rule: fail }],
  [133005, { means: 'the PIN does not match', rule: fail }],
  [133006, { means: 'the number must be verified', rule: fail }],
  [133008, { means: 'too many PIN guesses', rule: fail }],
  [133009, { means: 'the PIN was guessed too fast', rule: fail }],
  [133015, { means: 'the number was deleted a moment ago', rule: fail }],
  [133016, { means: 'too many registrations of the number', rule: fail }],
  [134100, { means: 'only marketing messages may go this way', rule: fail }],
  [134101, { means: 'the template is still being synchronised', rule: fail }],
  [134102, { means: 'the template is not available', rule: fail }],
  [135000, { means: 'a parameter is not valid', rule: fail }],
  [137000, { means: "the recipient's identity key does not match", rule: fail }],
])

/** The rule of a code; 200 to 299 are all permissions, and one nobody has listed is refused for good. */
export function codeEntry(code: number): CodeEntry {
  const entry = PROVIDER_CODES.get(code)
  if (entry) return entry
  if (code >= 200 && code <= 299) return { means: 'the app lacks a permission', rule: blockSender }
  return { means: 'refused by the chat product', rule: fail }
}
