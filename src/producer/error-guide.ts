// For each error that may be answered when it occurs, and what whoever got it does about it: docs/reference/errors.md is made of this and
// of the examples of error-codes.ts.
import type { ERRORS } from './error-codes.ts'

/** When it occurs, and what to do, each as a part of a sentence or as sentences without an end. */
type Guide = readonly [when: string, act: string]

/** Status → code → guide. */
export const ERROR_GUIDE: { readonly [S in keyof typeof ERRORS]: { readonly [C in keyof (typeof ERRORS)[S]]: Guide } } =
  {
    400: {
      invalid_request: [
        'A field is missing or wrong',
        'Correct the fields that `details` name; sent again as it is it is refused again',
      ],
      invalid_json: ['The body does not parse, or is not UTF-8', 'Look at the line and column that the message names'],
      invalid_body: [
        'The body is no object, is truncated, or is not the expected form or webhook',
        'Send a JSON object, or the form that the reference shows',
      ],
      too_deep: ['Nested deeper than 32 levels', 'Send less deep objects; no message needs a tenth of that'],
      too_many_values: ['More values, or more members in one object, than a body may have', 'Send less at once'],
      invalid_http: [
        'Malformed HTTP; the connection is closed',
        'Look at the client, or at what stands between it and Laneway',
      ],
      invalid_path: ['The path is not valid percent-encoding', 'Encode what is put into the path'],
      unknown_sender: [
        'The account has no such sender, or no default one',
        'Name a sender of the account by number, name or id, as `senders list` shows them, or set a default one',
      ],
      not_supported_by_provider: [
        "The sender's provider allows less than the interface: a list header other than text on `cloud-api`",
        'Leave out what the message names, or use a sender of the other provider',
      ],
      duplicate_name: [
        'A contact list of this name exists; `details[0].tag_id` is its id',
        'Use that list, or choose another name',
      ],
      no_rows: ['A campaign with `rows` has no file yet', 'Upload the rows, then have it checked'],
      no_rows_expected: ['A campaign with `tags` takes no file', 'Leave the file out, or make a campaign with `rows`'],
      template_not_approved: [
        'The template of a campaign is not, or no longer, approved',
        'Have WhatsApp approve it, or make the campaign with another one; `templates sync` reads what it is now',
      ],
      template_changed: [
        "The template was imported again, and the campaign's frozen values do not fit it",
        'Make the campaign again with values that fit',
      ],
      account_required: [
        "An operator's key belongs to no account, and the request names none",
        'Name the account in `x-laneway-account`; on the command line `--account`',
      ],
    },
    401: {
      unauthorized: [
        'The key is missing, unknown, expired or revoked',
        'Look at the key: `keys list` shows those that are good. One that is lost cannot be shown again: make a new one',
      ],
      bad_signature: [
        "A webhook's signature does not match its bytes",
        'Compare the app secret with that of the app at Meta; a proxy must not change the body',
      ],
    },
    403: {
      forbidden: [
        'The key lacks the permission; a wrong verify token',
        'Use a key with the permission that the message names',
      ],
      system_folder: ['Renaming a system folder needs `gallery:system`', 'Use a key with that permission'],
    },
    404: {
      no_such_route: ['No route for this method and path', 'Look the address up: `/docs` lists them all'],
      not_found: [
        'The thing does not exist, or belongs to another account',
        'Look at the id, and at the account that the key is of. What was kept for its time is gone',
      ],
    },
    405: {
      method_not_allowed: ['`Allow` names the methods', 'Use one of them'],
    },
    408: {
      too_slow: ['The body did not arrive within its time limit', 'Send it again, in smaller pieces over a slow line'],
    },
    409: {
      wrong_state: [
        'A message cannot be cancelled or requeued in its state, which `details[0].message` names',
        'Nothing: it has gone on. Look at the message',
      ],
      without_content: ['A message cannot be requeued because its content is no longer stored', 'Send a new message'],
      campaign_over: [
        'A message cannot be requeued because its campaign is cancelled or no longer stored',
        'Send a new message, or make a new campaign',
      ],
      capped: [
        'WhatsApp lets nobody send marketing to the person before `capped_until`',
        'Wait until then; another sender does not help',
      ],
      sender_removed: [
        'A message cannot be requeued because its sender was removed',
        'Send a new message from another sender',
      ],
      rows_replaced: ['Other rows were uploaded, or a preflight began, during this upload', 'Upload them again'],
      outside_window: [
        'The person has not written within 24 hours, and the account refuses such messages',
        'Send a template, or wait until the person writes',
      ],
      last_admin_key: ['The key is the last one that may manage the account', 'Make another one first'],
      too_many_keys: [
        'The account has 1,000 keys',
        'Wait until revoked ones are forgotten, or use keys for more than one thing',
      ],
      sender_taken: [
        'Number, name or phone number id belongs to another sender',
        'Look at `senders list`; a sender that is removed frees its number',
      ],
      sender_busy: [
        'The sender still has waiting messages, messages in doubt or a campaign',
        'Cancel what waits, and try again once the rest has ended',
      ],
      portfolio_in_use: ['Senders belong to the portfolio; the message names them', 'Take them out first'],
      duplicate_phone: ['The number belongs to another contact', 'Change that contact'],
      too_many_drafts: [
        'The account has the most campaigns that it may have without starting them',
        'Start or cancel some',
      ],
      rows_full: [
        'The account would store more bytes of rows than it may',
        'Cancel campaigns that nobody starts, or ask for a higher limit',
      ],
      gallery_full: [
        'The account would store more bytes of files than it may',
        'Empty the trash, remove files, or ask for a higher limit',
      ],
      too_many_contacts: [
        'The account would have more contacts than it may; in an import the rows before are stored',
        'Delete contacts, or ask for a higher limit',
      ],
    },
    410: {
      media_gone: [
        'WhatsApp no longer has the file of the message',
        'Ask the person to send it again; `keep_received_media` keeps what comes from now on',
      ],
    },
    412: {
      precondition_failed: ['A gallery file is not the one that `If-Match` names', 'Get the file anew'],
    },
    413: {
      too_large: ['The body or the file is too large', 'Send less at once; limits.md has the limits'],
    },
    415: {
      unsupported_media_type: [
        'Not JSON, or compressed, or no form where one is expected',
        'Send what the message names, not compressed',
      ],
    },
    416: {
      range_not_satisfiable: ['The file has no bytes in this range', 'Get the file anew'],
    },
    417: {
      expectation_failed: ['An `Expect` other than `100-continue`', 'Leave the header out'],
    },
    421: {
      flow_unreadable: [
        'No key of the account opens a request of a flow; WhatsApp fetches the public key again',
        'Upload the present public key, as `flows show` prints it',
      ],
    },
    422: {
      idempotency_key_reused: [
        'The key came with another body before',
        'Use a new key for a new message; a repeat has the same body',
      ],
      wrong_state: [
        'The state of the campaign does not allow this; the sentence names those that do',
        'Do first what leads to one of these states',
      ],
      nobody_in_class: [
        'A new run for a class without recipients',
        'Choose another class: the campaign shows how many are in each',
      ],
      invalid_tags: ['No tag, or more than 100', 'Name 1 to 100 lists'],
      too_many_endpoints: [
        'The account has 20 endpoints of events',
        'Remove one, or send what several need to one of them',
      ],
    },
    429: {
      rate_limited: [
        'Too many requests a second of this key, account or address; see `Retry-After` and `RateLimit`',
        'Wait as long as `Retry-After` says; put messages into batches',
      ],
      too_many_waiting: [
        'The account has the most waiting messages that it may have; see `Retry-After`',
        'Wait until some have left, or cancel some',
      ],
      too_many_requeues: [
        'The account has 5 requeue jobs that are not done, or 2 dry runs under way; see `Retry-After`',
        'Wait until one of them is done',
      ],
      too_many_moves: ['The account has 50 bulk moves under way; see `Retry-After`', 'Wait until one of them is done'],
      too_many_sign_ins: [
        'Ten wrong keys came from one address within a minute; see `Retry-After`',
        'Wait, then use the right key',
      ],
    },
    431: {
      too_many_headers: ['More than 100', 'Leave out those that nobody needs; a proxy may add some'],
      headers_too_large: ['More than 16 KB of them', 'Leave out cookies of other services'],
    },
    432: {
      flow_not_signed: [
        "The signature of a flow's request, or of its token, is not WhatsApp's",
        'Compare the app secret with that of the app at Meta',
      ],
    },
    500: {
      internal: [
        'A fault of Laneway; the log has the cause under the request id',
        'Try again once; then look into the log, or tell the operator the id',
      ],
    },
    501: {
      not_installed: [
        'The raw queues need packages that are not installed; the message has the command',
        'Install them',
      ],
    },
    502: {
      media_unavailable: ['WhatsApp did not hand the file over', 'Try again later'],
      flow_unanswered: [
        "The account's own server gave no answer that a flow can use",
        'Look at that server: it has 3 s and answers in JSON',
      ],
      not_marked_read: [
        'WhatsApp did not mark a received message as read; the sentence says why',
        'Try again if the sentence says so',
      ],
    },
    503: {
      unavailable: [
        'Redis is away or full; `Retry-After` says when to try again',
        'Try again with the same Idempotency-Key; the operator looks at Redis',
      ],
      overloaded: [
        'More bodies at once than the process holds; this one took longest. `Retry-After` as above',
        'Try again with the same Idempotency-Key, fewer at once',
      ],
      no_worker: ['Only `/readyz`: no worker is alive', 'Start a worker; messages are accepted and wait'],
      stopping: [
        'Only `/readyz`: this producer is stopping and still serves other requests',
        'Send new requests to another one',
      ],
      memory_reserve: [
        'The memory left in Redis is reserved for single messages; `Retry-After` as above',
        'Wait until campaigns have gone out, or give Redis more memory',
      ],
    },
    507: {
      disk_reserve: ['The disk space left is reserved for sending', 'Tell the operator: the disk has to have room'],
    },
  }
