// Every error that may be answered, with an example: a sentence for a person, and the field that it is about. docs/reference/http
// explains when each occurs.
import { NOT_A_SENDER } from '../model/accounts/sender.ts'
import { ApiError, errorBody } from './errors.ts'

type Example = string | { message: string; path: string; fault: string; tag_id?: number }

const field = (path: string, fault: string) => ({ message: `${path}: ${fault}.`, path, fault })

const WRONG_STATE = field('state', 'sent')

/** Status → code → example. */
export const ERRORS = {
  400: {
    invalid_request: field('interactive.action.buttons[0].reply.title', 'at most 20 characters, got 31'),
    invalid_json: 'The body is not valid JSON: line 3, column 12.',
    invalid_body: 'The body must be a JSON object, got an array.',
    too_deep: 'The body is nested deeper than 32 levels.',
    too_many_values: 'The body has more than 10000 values.',
    invalid_http: 'The request is not valid HTTP.',
    invalid_path: 'The path is not valid percent-encoding.',
    unknown_sender: {
      message: 'sender: the account has no sender of this number or name.',
      path: 'sender',
      fault: NOT_A_SENDER,
    },
    not_supported_by_provider: field('interactive.header.type', 'cloud-api takes only text headers in lists'),
    duplicate_name: { ...field('name', 'a list of this name exists already'), tag_id: 7 },
    no_rows: 'Upload the rows before the preflight.',
    no_rows_expected: 'The recipients of this campaign are contacts, not uploaded rows.',
    template_not_approved: 'The template flash_sale is not approved any more.',
    template_changed:
      'The template flash_sale has changed and does not fit this campaign any more: ' +
      'template.components: a HEADER component is missing: the header is of kind image.',
    account_required: {
      message: 'Name the account that you act for in the header x-laneway-account: this key is of no account.',
      path: 'x-laneway-account',
      fault: 'required',
    },
  },
  401: {
    unauthorized: 'The key is not known.',
    bad_signature: 'X-Hub-Signature-256 does not match the body.',
  },
  403: {
    forbidden: 'The key lacks the permission messages:send.',
    system_folder: 'System folders are renamed only with the permission gallery:system.',
  },
  404: {
    no_such_route: 'No route for GET /campaign; /docs lists them all.',
    not_found: 'The message does not exist.',
  },
  405: {
    method_not_allowed: 'Method not allowed; use POST.',
  },
  408: {
    too_slow: 'The request body was not received within 30 seconds.',
  },
  409: {
    wrong_state: WRONG_STATE,
    without_content: 'Its content is no longer stored, so it cannot be sent again.',
    campaign_over: 'Its campaign is cancelled, so it is not sent again.',
    capped: 'WhatsApp lets nobody send marketing to this person for now; see `capped_until` of the message.',
    sender_removed: 'Its sender was removed, so it cannot be sent again.',
    rows_replaced: 'Other rows were uploaded meanwhile; upload these again.',
    outside_window: {
      message: 'The person has not written within 24 hours before it would leave, and can be sent only templates.',
      path: 'to',
      fault: 'has not written within 24 hours',
    },
    last_admin_key: 'This is the last key with the permission admin; make another one first.',
    too_many_keys: 'The account has 1000 keys; revoked ones are forgotten after 90 days.',
    sender_taken: field('number', 'belongs to another sender'),
    sender_busy: 'The sender cannot be removed: 3 of its messages are not settled yet.',
    portfolio_in_use: 'The portfolio cannot be removed: 2 of its senders belong to it (1, 2); take them out first.',
    duplicate_phone: field('phone', 'belongs to another contact'),
    too_many_drafts: 'The account has 5000 campaigns that were not started: start or cancel some.',
    rows_full: 'The rows of the campaigns of the account have reached 53687091200 bytes: at most so many are kept.',
    gallery_full: 'The gallery of the account has reached 53687091200 bytes: at most so many are kept.',
    too_many_contacts: 'The account would have more than 10000000 contacts: at most so many are kept.',
  },
  410: {
    media_gone: 'WhatsApp does not keep this file any more.',
  },
  412: {
    precondition_failed: 'The file is not the one the request names.',
  },
  413: {
    too_large: 'The body is too large.',
  },
  415: {
    unsupported_media_type: 'Send the body as Content-Type: application/json, in UTF-8.',
  },
  416: {
    range_not_satisfiable: 'The file has no bytes in this range.',
  },
  417: {
    expectation_failed: 'The only expectation supported is 100-continue.',
  },
  421: {
    flow_unreadable: 'No key of the account opens this request: upload its present public key.',
  },
  422: {
    idempotency_key_reused: 'This Idempotency-Key was used with another body; use a new key for a new message.',
    wrong_state: WRONG_STATE,
    nobody_in_class: 'Nobody is in the class failed.',
    invalid_tags: field('tags', 'expected 1 to 100 tags, got 0'),
    too_many_endpoints: 'An account may have 20 endpoints.',
  },
  429: {
    rate_limited: 'Too many requests: at most 50 a second for this key. Try again in a second.',
    too_many_waiting: 'The account has 10000000 messages that wait: at most so many may.',
    too_many_requeues: 'The account has 5 requeue jobs that are not done.',
    too_many_moves: 'The account has 50 bulk moves under way.',
    too_many_sign_ins: 'Too many wrong keys came from there. Try again in 42 s.',
  },
  431: {
    too_many_headers: 'A request has at most 100 headers.',
    headers_too_large: 'The headers are too large.',
  },
  432: {
    flow_not_signed: 'X-Hub-Signature-256 or the flow token’s signature does not match.',
  },
  500: {
    internal: 'Something went wrong on our side. Quote the request id when you ask for support.',
  },
  502: {
    media_unavailable: 'WhatsApp did not hand the file over; try again later.',
    flow_unanswered: 'The server of the account gave no answer that a flow can use.',
    not_marked_read: 'WhatsApp did not mark it: WhatsApp answered: a parameter is not valid (code 100).',
  },
  501: {
    not_installed: 'The raw queues need packages that are not installed: npm install @bull-board/api@9.10.1.',
  },
  503: {
    unavailable: 'The service cannot reach its storage right now. Try again in a few seconds.',
    overloaded: 'Too much is being sent at the moment. Try again in a few seconds.',
    no_worker: 'No worker is alive: messages are accepted and wait.',
    stopping: 'This producer is stopping: use another one.',
    memory_reserve:
      'The memory of Redis is nearly used up: what is left is kept for single messages. Try again in a while.',
  },
  507: {
    disk_reserve: 'The disk is nearly full: what is left is kept for sending. Tell the operator.',
  },
} satisfies Readonly<Record<number, Readonly<Record<string, Example>>>>

/** Status → codes. */
export type ErrorsByStatus = { readonly [S in keyof typeof ERRORS]?: readonly (keyof (typeof ERRORS)[S])[] }

/** What may be answered at any address, before a route is found. */
export const EDGE_ERRORS: ErrorsByStatus = {
  400: ['invalid_http', 'invalid_path'],
  404: ['no_such_route'],
  405: ['method_not_allowed'],
  408: ['too_slow'],
  413: ['too_large'],
  417: ['expectation_failed'],
  429: ['rate_limited'],
  431: ['too_many_headers', 'headers_too_large'],
  500: ['internal'],
  503: ['unavailable'],
}

/** Code → the body of an answer with it, in the envelope of all errors. */
export function errorExamples(): Record<string, { value: object }> {
  const examples = Object.values(ERRORS).flatMap((ofStatus) => Object.entries<Example>(ofStatus))
  return Object.fromEntries(examples.map(([code, example]) => [code, { value: bodyOf(code, example) }]))
}

function bodyOf(code: string, example: Example): object {
  const requestId = '876b615f-6d2d-4f67-844a-d64879f2f9f2'
  if (typeof example === 'string') return errorBody(new ApiError(0, code, example), requestId)
  const { message, path, fault, ...more } = example
  return errorBody(new ApiError(0, code, message, { details: [{ path, message: fault, ...more }] }), requestId)
}
