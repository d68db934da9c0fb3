// WhatsApp's error codes: what each means, what it concerns, and what is done about it. One table, read by
// outcome.ts and by the circuit breaker of campaigns. Source: WhatsApp's error reference and answers seen live.

/**
 * Whom a refusal concerns, and so what else follows from it:
 * - `recipient`: this person. Nothing about the next one, so it does not count for a campaign's circuit breaker.
 * - `message`: what this message holds. Perhaps a value of one person, perhaps the same in all messages.
 * - `template`: the template. Every other message of the campaign would be refused as well.
 * - `sender`, `account`: the number or the business account.
 * - `provider`: WhatsApp itself.
 */
export type Concern = 'recipient' | 'message' | 'template' | 'sender' | 'account' | 'provider'

/** How we respond to a code. */
export type CodeRule =
  /** Proven unsent: the whole lane waits `seconds`, or as long as Retry-After asks. */
  | { act: 'pause_lane'; seconds: number }
  /** Proven unsent: campaigns of the number rest for `seconds`, or as long as Retry-After asks; the others are probed. */
  | { act: 'rest_campaigns'; seconds: number }
  /** Proven unsent: this message waits, and the try counts. */
  | { act: 'retry' }
  /** Proven unsent: this recipient waits 4^X seconds, X counting from 0; others go on. */
  | { act: 'delay_recipient' }
  /** Proven unsent: nothing of this sender can go out until a person fixes it. */
  | { act: 'block_sender' }
  /** Refused for good. */
  | { act: 'fail' }
  /** Proves nothing: the message may have been accepted. */
  | { act: 'unconfirmed' }

/** A code of WhatsApp: its meaning for a person, and our response. */
export interface CodeEntry {
  means: string
  concerns: Concern
  rule: CodeRule
  /** Proof of not sent whatever the HTTP status; the others prove it only with a status below 500. */
  provesUnsent: boolean
}

/** The recipient has had enough marketing for now, of whatever business. */
export const HAD_ENOUGH = '131049'
/** The recipient has stopped this business's marketing in WhatsApp. */
export const OPTED_OUT_THERE = '131050'

const pauseLane = (seconds: number): CodeRule => ({ act: 'pause_lane', seconds })
const campaignsRestFor = (seconds: number): CodeRule => ({ act: 'rest_campaigns', seconds })
const blockSender: CodeRule = { act: 'block_sender' }
const delayRecipient: CodeRule = { act: 'delay_recipient' }
const retry: CodeRule = { act: 'retry' }
const fail: CodeRule = { act: 'fail' }
const unconfirmed: CodeRule = { act: 'unconfirmed' }
const PROOF = 'proves unsent'

type Row = readonly [code: number, concerns: Concern, rule: CodeRule, means: string, proof?: typeof PROOF]

const ROWS: readonly Row[] = [
  // Nothing is known of the message.
  [1, 'provider', unconfirmed, 'unknown error of WhatsApp'],
  [2, 'provider', unconfirmed, 'down or overloaded at WhatsApp'],
  [131000, 'provider', unconfirmed, 'something went wrong at WhatsApp'],

  // Throttled.
  [4, 'account', pauseLane(60), 'too many calls by the app', PROOF],
  [17, 'account', pauseLane(60), 'too many calls by the user'],
  [341, 'account', pauseLane(60), 'application limit reached'],
  [80007, 'account', pauseLane(60), 'too many calls by the business account', PROOF],
  [80008, 'account', pauseLane(60), 'too many calls by the business account'],
  [130429, 'sender', pauseLane(1), 'more messages per second than the number may send', PROOF],
  [131056, 'recipient', delayRecipient, 'too many messages to this recipient', PROOF],
  [131048, 'sender', campaignsRestFor(3_600), 'the number is held back for spam', PROOF],
  [131057, 'account', pauseLane(60), 'the account is in maintenance', PROOF],
  [133004, 'provider', retry, 'the server is temporarily unavailable', PROOF],
  [131016, 'provider', retry, 'the service is unavailable', PROOF],

  // Authentication, permission, policy, billing.
  [0, 'sender', blockSender, 'the token cannot be authenticated'],
  [3, 'sender', blockSender, 'the app lacks the capability'],
  [10, 'sender', blockSender, 'permission denied'],
  [33, 'sender', blockSender, 'the business number was deleted'],
  [104, 'sender', blockSender, 'no token was sent'],
  [190, 'sender', blockSender, 'the token has expired or is invalid'],
  [368, 'account', blockSender, 'the account is blocked for a policy violation'],
  [803, 'sender', blockSender, 'the business number is not known there'],
  [131005, 'account', blockSender, 'access denied'],
  [131031, 'account', blockSender, 'the account is locked'],
  [131037, 'sender', blockSender, 'the display name of the number is not approved'],
  [131042, 'account', blockSender, 'the business account cannot be billed'],
  [131045, 'sender', blockSender, 'the number is not registered rightly'],
  [131064, 'account', blockSender, 'the account is limited for template misuse'],
  [133010, 'sender', blockSender, 'the number is not registered'],
  [134011, 'account', blockSender, 'the terms of payment are not accepted'],

  // Permanent for this message.
  [100, 'message', fail, 'a parameter is not valid'],
  [130403, 'recipient', fail, 'the recipient has blocked the business'],
  [130472, 'recipient', fail, 'the recipient is part of an experiment and gets no marketing'],
  [130497, 'account', fail, "the business may not message the recipient's country"],
  [131008, 'message', fail, 'a required parameter is missing'],
  [131009, 'message', fail, 'a parameter value is not valid'],
  [131021, 'recipient', fail, 'the recipient is the sender'],
  [131026, 'recipient', fail, 'the message cannot be delivered to this recipient'],
  // Only a test number has such a list: it refuses everybody else, so it counts.
  [131030, 'sender', fail, 'the recipient is not in the list of test numbers'],
  [131047, 'recipient', fail, 'the recipient has not written in the last 24 hours'],
  [131049, 'recipient', fail, 'held back to keep the recipient from too much marketing'],
  [131050, 'recipient', fail, 'the recipient does not want marketing of this business'],
  [131051, 'message', fail, 'the message type is not supported'],
  [131052, 'message', fail, 'the media of the recipient could not be loaded'],
  [131053, 'message', fail, 'the media could not be loaded from its link'],
  [131055, 'template', fail, 'only marketing templates may go this way'],
  [131062, 'recipient', fail, 'this message needs a phone number as recipient'],
  // Every marketing template of the account, so every other message of the campaign.
  [131063, 'template', fail, 'marketing templates are switched off for the account'],
  [132000, 'template', fail, 'the number of template parameters is wrong'],
  [132001, 'template', fail, 'the template does not exist in this language or is not approved'],
  [132005, 'message', fail, 'the filled-in template text is too long'],
  [132007, 'template', fail, 'the template violates the content policy'],
  [132008, 'message', fail, 'a template parameter value is not valid'],
  [132012, 'template', fail, 'a template parameter has the wrong format'],
  [132015, 'template', fail, 'the template is paused for low quality'],
  [132016, 'template', fail, 'the template is disabled'],
  [132018, 'message', fail, 'a template parameter is not valid'],
  [132068, 'template', fail, 'the flow is blocked'],
  [132069, 'template', fail, 'the flow is throttled'],
  [133000, 'sender', fail, 'the deregistration of the number is not complete'],
  [133005, 'sender', fail, 'the PIN does not match'],
  [133006, 'sender', fail, 'the number must be verified'],
  [133008, 'sender', fail, 'too many PIN guesses'],
  [133009, 'sender', fail, 'the PIN was guessed too fast'],
  [133015, 'sender', fail, 'the number was deleted a moment ago'],
  [133016, 'sender', fail, 'too many registrations of the number'],
  [134100, 'template', fail, 'only marketing messages may go this way'],
  [134101, 'template', fail, 'the template is still being synchronised'],
  [134102, 'template', fail, 'the template is not available', PROOF],
  // Its meaning is not published: treated like others of its family.
  [134103, 'template', fail, 'refused by the address for marketing'],
  [135000, 'message', fail, 'a parameter is not valid'],
  [137000, 'recipient', fail, "the recipient's identity key does not match"],
  // Of Direct Send, which Laneway does not use; templates of the account are sent all the same.
  [139200, 'account', fail, 'sending without a template is blocked for the account'],
]

export const PROVIDER_CODES: ReadonlyMap<number, CodeEntry> = new Map(
  ROWS.map(([code, concerns, rule, means, proof]) => [code, { means, concerns, rule, provesUnsent: proof === PROOF }]),
)

/** The HTTP status for too many requests, when it came without a code. */
const TOO_MANY = 'http_429'

/** Whether a problem's code says that the lane is too fast for the provider: it makes the lane wait. */
export const isThrottling = (code: string): boolean =>
  code === TOO_MANY || PROVIDER_CODES.get(isOfWhatsApp(code) ? Number(code) : Number.NaN)?.rule.act === 'pause_lane'

/** The rule of a code; 200 to 299 are all permissions, and an unlisted code is refused for good. */
export function codeEntry(code: number): CodeEntry {
  const entry = PROVIDER_CODES.get(code)
  if (entry) return entry
  if (code >= 200 && code <= 299)
    return { means: 'the app lacks a permission', concerns: 'account', rule: blockSender, provesUnsent: false }
  return { means: 'refused by WhatsApp', concerns: 'message', rule: fail, provesUnsent: false }
}

/** Whether it is a code of WhatsApp; the others are ours, such as that of a file that was removed. */
export const isOfWhatsApp = (code: string): boolean => /^\d+$/.test(code)

/** The code in words, without WhatsApp's own text, which may quote the message. */
export const describeCode = (code: string): string =>
  isOfWhatsApp(code) ? `${codeEntry(Number(code)).means} (code ${code})` : `no code of WhatsApp (${code})`
