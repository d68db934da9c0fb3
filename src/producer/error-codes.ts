// Every error that may be answered, by status. docs/reference/http says when each comes.

const ERROR_CODES = {
  400: [
    ...['invalid_request', 'invalid_json', 'invalid_body', 'too_deep', 'too_many_values', 'invalid_http'],
    ...['invalid_path', 'unknown_sender', 'not_supported_by_provider', 'duplicate_name', 'no_rows', 'no_rows_expected'],
    ...['template_not_approved', 'template_changed', 'account_required'],
  ],
  401: ['unauthorized', 'bad_signature'],
  403: ['forbidden', 'system_folder'],
  404: ['no_such_route', 'not_found'],
  405: ['method_not_allowed'],
  408: ['too_slow'],
  409: [
    ...['wrong_state', 'without_content', 'campaign_over', 'sender_removed', 'rows_replaced', 'outside_window'],
    ...['last_admin_key', 'too_many_keys', 'sender_taken', 'sender_busy', 'duplicate_phone'],
    ...['too_many_drafts', 'rows_full', 'gallery_full', 'too_many_contacts'],
  ],
  410: ['media_gone'],
  412: ['precondition_failed'],
  413: ['too_large'],
  415: ['unsupported_media_type'],
  416: ['range_not_satisfiable'],
  417: ['expectation_failed'],
  422: ['idempotency_key_reused', 'wrong_state', 'nobody_in_class', 'invalid_tags', 'too_many_endpoints'],
  429: ['rate_limited', 'too_many_waiting', 'too_many_requeues', 'too_many_moves', 'too_many_sign_ins'],
  431: ['too_many_headers', 'headers_too_large'],
  500: ['internal'],
  502: ['media_unavailable'],
  503: ['unavailable', 'overloaded', 'no_worker', 'stopping', 'memory_reserve'],
  507: ['disk_reserve'],
} as const

type ErrorStatus = keyof typeof ERROR_CODES

export type ErrorCode = (typeof ERROR_CODES)[ErrorStatus][number]

/** Status → codes. */
export type ErrorsByStatus = { readonly [S in ErrorStatus]?: readonly (typeof ERROR_CODES)[S][number][] }

/** All that any address may answer, also those that are no route. */
export const ALL_ERRORS: ErrorsByStatus = ERROR_CODES

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
