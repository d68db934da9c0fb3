// The error codes of WhatsApp that the simulator can answer with: HTTP status, title and details of each.
// Codes, titles and HTTP statuses are WhatsApp's published ones; where its own editions disagree on 400 or 429
// for throttling, the rate limits of a number and of an app are 429 here and the pair limit is 400, as seen live.

/** One error of WhatsApp, without the envelope that a wire puts around it. */
export interface ChatError {
  /** HTTP status when the code travels in the answer to a request; in a status update it is not used. */
  http: number
  title: string
  /** What the code means, for a person. A check with more details of the request puts its own sentence here. */
  details: string
  subcode?: number
  /** Seconds, sent as `Retry-After`. */
  retryAfterS?: number
  /** WhatsApp marks some faults of its own as passing. */
  transient?: true
}

export const CHAT_ERRORS = {
  1: { http: 500, title: 'API Unknown', details: 'An unknown error occurred.' },
  2: { http: 503, title: 'API Service', details: 'Service temporarily unavailable.', transient: true },
  4: {
    http: 429,
    title: 'Application request limit reached',
    details: 'The app made too many calls within the rolling hour.',
    retryAfterS: 60,
  },
  100: { http: 400, title: 'Invalid parameter', details: 'The request has a parameter that is not valid.' },
  104: { http: 401, title: 'Access token required', details: 'An access token is required to request this resource.' },
  190: {
    http: 401,
    title: 'Access token has expired',
    details: 'Error validating access token: the session has expired.',
    subcode: 463,
  },
  368: {
    http: 403,
    title: 'Temporarily blocked for policies violations',
    details: 'The business account is restricted for violating a platform policy.',
  },
  130429: {
    http: 429,
    title: 'Rate limit hit',
    details: 'Message failed to send because too many messages were sent from this number within a second.',
    retryAfterS: 1,
  },
  130472: {
    http: 400,
    title: "User's number is part of an experiment",
    details: 'Message was not sent because the recipient is part of an experiment.',
  },
  130497: {
    http: 403,
    title: 'Business account is restricted from messaging users in this country',
    details: 'The business may not message recipients in this country.',
  },
  131000: { http: 500, title: 'Something went wrong', details: 'Message failed to send because of an unknown error.' },
  131005: { http: 403, title: 'Access denied', details: 'The permission is missing or was withdrawn.' },
  131008: { http: 400, title: 'Required parameter is missing', details: 'The request lacks a required parameter.' },
  131009: { http: 400, title: 'Parameter value is not valid', details: 'A parameter has a value that is not valid.' },
  131016: { http: 500, title: 'Service unavailable', details: 'A service is temporarily unavailable.' },
  131026: {
    http: 400,
    title: 'Message undeliverable',
    details: 'The recipient is not on WhatsApp, has not accepted its terms or uses an old version.',
  },
  131030: {
    http: 400,
    title: 'Recipient phone number not in allowed list',
    details: 'A test number may only message the recipients on its list.',
  },
  131031: {
    http: 403,
    title: 'Business Account locked',
    details: 'The business account is locked or its data could not be verified.',
  },
  131042: {
    http: 400,
    title: 'Business eligibility payment issue',
    details: 'Message failed to send because of a problem with the payment method.',
  },
  131047: {
    http: 400,
    title: 'Re-engagement message',
    details: 'More than 24 hours have passed since the recipient last replied to the sender.',
  },
  131048: {
    http: 429,
    title: 'Spam rate limit hit',
    details: 'Message failed to send because many messages of this number were blocked or flagged as spam.',
  },
  131049: {
    http: 400,
    title: 'Not delivered to maintain ecosystem engagement',
    details: 'This message was not delivered to maintain healthy ecosystem engagement.',
  },
  131050: {
    http: 400,
    title: 'Recipient stopped marketing messages',
    details: 'The recipient has chosen to receive no marketing messages from this business.',
  },
  131051: { http: 400, title: 'Unsupported message type', details: 'Message type is currently not supported.' },
  131053: {
    http: 400,
    title: 'Media upload error',
    details: 'Downloading the media from its link failed with HTTP code 404.',
  },
  131056: {
    http: 400,
    title: '(Business Account, Consumer Account) pair rate limit hit',
    details: 'Too many messages were sent from this number to the same recipient in a short time.',
  },
  131057: {
    http: 500,
    title: 'Account in maintenance mode',
    details: 'The number is being moved to a higher throughput.',
  },
  132000: {
    http: 400,
    title: 'Number of parameters does not match the expected number of params',
    details: 'body: number of localizable_params (1) does not match the expected number of params (2)',
  },
  132001: {
    http: 404,
    title: 'Template name does not exist in the translation',
    details: 'The template does not exist in this language or is not approved.',
  },
  132005: { http: 400, title: 'Translated text too long', details: 'The text with its parameters is too long.' },
  132012: {
    http: 400,
    title: 'Parameter format does not match format in the created template',
    details: 'header: Format mismatch, expected IMAGE, received UNKNOWN',
  },
  132015: {
    http: 400,
    title: 'Template is Paused',
    details: 'The template is paused because of low quality and cannot be sent.',
  },
  132018: {
    http: 400,
    title: 'There is an issue with the parameters in your template',
    details: 'A parameter of the template is not of the right kind.',
  },
  133010: { http: 400, title: 'Phone number not registered', details: 'The sender is not registered.' },
  134100: {
    http: 400,
    title: 'Only marketing messages supported',
    details: 'This address takes only approved templates of the category MARKETING.',
  },
  134101: {
    http: 400,
    title: 'Template is still syncing',
    details: 'The template is being prepared for this address; it takes up to ten minutes.',
  },
  134102: {
    http: 500,
    title: 'Template unavailable for use',
    details: 'The template cannot be sent by this address.',
  },
  135000: {
    http: 400,
    title: 'Generic user error',
    details: 'Message failed to send because of an unknown error with the request parameters.',
  },
} as const satisfies Record<number, ChatError>

/** A code that the simulator knows. */
export type ChatErrorCode = keyof typeof CHAT_ERRORS

/** Whether the simulator knows a code. */
export const isChatErrorCode = (code: unknown): code is ChatErrorCode => typeof code === 'number' && code in CHAT_ERRORS

/** A request refused by WhatsApp: its code and, where the check knows better than the table, the details. */
export interface Refusal {
  code: ChatErrorCode
  details?: string
  /** Instead of the table's. */
  subcode?: number
}

/** The table's row of a code. */
export function chatError(code: ChatErrorCode): ChatError {
  return CHAT_ERRORS[code]
}

/** The refusal of a token or api_key, or null when it will do. Without a list any that is not empty will. */
export function tokenRefusal(token: string | undefined, accepted: readonly string[]): Refusal | null {
  if (token === undefined || token === '') return { code: 104 }
  if (accepted.length === 0 || accepted.includes(token)) return null
  return { code: 190, subcode: 467, details: 'Invalid access token: cannot parse access token.' }
}

/** HTTP status and headers that a refusal is answered with, the same on both wires. */
export function refusalHead(refusal: Refusal): { http: number; headers: Record<string, string> } {
  const { http, retryAfterS } = chatError(refusal.code)
  return { http, headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) } }
}

/** What a stranger wrote, short enough for the details of a refusal. */
export function excerpt(value: unknown): string {
  // not String(value): JSON can carry an object whose own toString is a number
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.slice(0, 40)
}
