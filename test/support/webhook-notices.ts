// A body for each shape of webhook about templates, accounts, numbers, calls and groups that WhatsApp documents or that test data of
// public projects has, with values of our own. What Laneway reads, it carries out; of the others it keeps a notice.
import { error, FILE, head, metadata, type Sample, TIME } from './webhook-samples.ts'

const news = (field: string, name: string, value: object, as = field): Sample => [
  `${field}: ${name}`,
  field,
  value,
  { news: [as] },
]
const known = (field: string, name: string, value: object): Sample => news(field, name, value)
const kept = (field: string, name: string, value: object): Sample => news(field, name, value, `${field}?`)
const list = (field: string, name: string, of: string, items: object[]): Sample =>
  kept(field, name, { ...head, [of]: items })

const TEMPLATE = {
  message_template_id: 77,
  message_template_name: 'spring',
  message_template_language: 'en-US',
}

const TEMPLATES: readonly Sample[] = [
  ...['APPROVED', 'REJECTED', 'PENDING', 'PAUSED', 'DISABLED', 'FLAGGED', 'IN_APPEAL', 'LOCKED', 'UNLOCKED'].map(
    (event) => known('message_template_status_update', event, { ...TEMPLATE, event, reason: 'NONE' }),
  ),
  ...['REINSTATED', 'ARCHIVED', 'UNARCHIVED', 'DELETED', 'PENDING_DELETION', 'LIMIT_EXCEEDED'].map((event) =>
    known('message_template_status_update', event, { ...TEMPLATE, event, message_template_category: 'MARKETING' }),
  ),
  known('message_template_status_update', 'with all that it can tell', {
    ...{ ...TEMPLATE, event: 'DISABLED', reason: 'ABUSIVE_CONTENT', disable_info: { disable_date: '2026-12-01' } },
    ...{ other_info: { title: 'T', description: 'D' }, rejection_info: { reason: 'R', recommendation: 'S' } },
  }),
  known('message_template_quality_update', 'RED', {
    ...{ ...TEMPLATE, previous_quality_score: 'GREEN', new_quality_score: 'RED' },
  }),
  known('message_template_components_update', 'other parts', {
    ...{
      ...TEMPLATE,
      message_template_title: 'T',
      message_template_element: 'Hello {{1}}',
      message_template_footer: 'F',
    },
    message_template_buttons: [{ message_template_button_type: 'URL', message_template_button_text: 'Go' }],
  }),
  known('template_category_update', 'to come', {
    ...{
      ...TEMPLATE,
      correct_category: 'MARKETING',
      new_category: 'UTILITY',
      category_update_timestamp: 1_795_183_569,
    },
  }),
  known('template_category_update', 'done', {
    ...{ ...TEMPLATE, previous_category: 'UTILITY', new_category: 'MARKETING' },
  }),
  kept('template_correct_category_detection', 'of a template', {
    ...{ ...TEMPLATE, category: 'UTILITY', correct_category: 'MARKETING' },
  }),
]

const ACCOUNTS: readonly Sample[] = [
  ...[
    ...['ACCOUNT_DELETED', 'ACCOUNT_OFFBOARDED', 'ACCOUNT_RECONNECTED', 'VERIFIED_ACCOUNT', 'MM_LITE_TERMS_SIGNED'],
    ...['AD_ACCOUNT_LINKED', 'PARTNER_ADDED', 'PARTNER_APP_INSTALLED', 'PARTNER_APP_UNINSTALLED', 'ACCOUNT_REINSTATED'],
    ...['AUTH_INTL_PRICE_ELIGIBILITY_UPDATE', 'BUSINESS_PRIMARY_LOCATION_COUNTRY_UPDATE'],
    ...['PARTNER_CLIENT_CERTIFICATION_STATUS_UPDATE', 'VOLUME_BASED_PRICING_TIER_UPDATE'],
  ].map((event) =>
    known('account_update', event, { event, waba_info: { waba_id: '102', owner_business_id: '7' }, country: 'DE' }),
  ),
  known('account_update', 'a violation', { event: 'ACCOUNT_VIOLATION', violation_info: { violation_type: 'SCAM' } }),
  known('account_update', 'a restriction', {
    event: 'ACCOUNT_RESTRICTION',
    restriction_info: [{ restriction_type: 'RESTRICTED_BIZ_INITIATED_MESSAGING', expiration: 1_795_183_569 }],
  }),
  known('account_update', 'a ban', {
    ...{ event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: ['DISABLE'], waba_ban_date: 'December 1, 2026' } },
  }),
  known('account_update', 'a partner that left', {
    ...{
      event: 'PARTNER_REMOVED',
      phone_number: '15550200001',
      disconnection_info: { reason: 'A', initiated_by: 'USER' },
    },
  }),
  known('account_alerts', 'an alert', {
    ...{ entity_type: 'PHONE_NUMBER', entity_id: 106_001 },
    alert_info: {
      alert_severity: 'WARNING',
      alert_status: 'ACTIVE',
      alert_type: 'LOW_QUALITY',
      alert_description: 'D',
    },
  }),
  known('account_review_update', 'REJECTED', { decision: 'REJECTED', rejection_reasons: ['POLICY'] }),
  known('business_capability_update', 'a tier', {
    max_daily_conversations_per_business: 'TIER_2K',
    max_phone_numbers_per_waba: 25,
  }),
  known('business_capability_update', 'formerly', {
    max_daily_conversation_per_phone: 1_000,
    max_phone_numbers_per_business: 2,
  }),
  known('phone_number_quality_update', 'a limit', {
    ...{ display_phone_number: '15550200001', event: 'UPGRADE', current_limit: 'TIER_10K', old_limit: 'TIER_1K' },
  }),
  known('phone_number_quality_update', 'throughput', {
    ...{ display_phone_number: '15550200001', event: 'THROUGHPUT_UPGRADE', current_limit: 'TIER_UNLIMITED' },
  }),
  known('phone_number_name_update', 'REJECTED', {
    ...{
      display_phone_number: '15550200001',
      decision: 'REJECTED',
      requested_verified_name: 'S',
      rejection_reason: 'NAME',
    },
  }),
  known('security', 'a PIN', { display_phone_number: '15550200001', event: 'PIN_CHANGED', requester: '7' }),
]

const CALL = { id: 'wacid.1', from: '491700000001', to: '15550200001', timestamp: TIME, direction: 'USER_INITIATED' }
const OF_GROUP = { timestamp: TIME, group_id: 'Y2FwaV9ncm91cDox', request_id: 'q' }
const ECHO = {
  from: '15550200001',
  to: '491700000001',
  id: 'wamid.E',
  timestamp: TIME,
  type: 'text',
  text: { body: 'Hi' },
}

const KEPT: readonly Sample[] = [
  list('calls', 'a call', 'calls', [{ ...CALL, event: 'connect', session: { sdp_type: 'offer', sdp: 'v=0' } }]),
  list('calls', 'its end', 'calls', [{ ...CALL, event: 'terminate', status: 'COMPLETED', duration: 20 }]),
  list('calls', 'a status', 'statuses', [{ id: 'wacid.1', type: 'call', status: 'RINGING', timestamp: TIME }]),
  list('history', 'threads', 'history', [
    { metadata: { phase: 1, chunk_order: 2, progress: 50 }, threads: [{ id: '491700000001', messages: [ECHO] }] },
  ]),
  list('history', 'refused', 'history', [{ errors: [error(2_593_109)] }]),
  list('history', 'media', 'messages', [{ ...ECHO, type: 'image', image: FILE }]),
  list('smb_message_echoes', 'a text', 'message_echoes', [ECHO]),
  list('smb_message_echoes', 'a deletion', 'message_echoes', [
    { ...ECHO, type: 'revoke', revoke: { original_message_id: 'wamid.O' } },
  ]),
  list('message_echoes', 'a text', 'message_echoes', [ECHO]),
  list('smb_app_state_sync', 'a contact', 'state_sync', [
    {
      type: 'contact',
      action: 'add',
      contact: { full_name: 'Ada L', phone_number: '4917' },
      metadata: { timestamp: TIME },
    },
  ]),
  kept('account_settings_update', 'calls', {
    ...{ messaging_product: 'whatsapp', timestamp: 1_795_183_569, type: 'PHONE_NUMBER_SETTINGS' },
    phone_number_settings: { phone_number_id: '106001', calling: { status: 'ENABLED', sip: { servers: [] } } },
  }),
  ...[
    'FLOW_STATUS_CHANGE',
    'CLIENT_ERROR_RATE',
    'ENDPOINT_ERROR_RATE',
    'ENDPOINT_LATENCY',
    'ENDPOINT_AVAILABILITY',
  ].map((event) =>
    kept('flows', event, { event, flow_id: '51', message: 'M', threshold: 10, alert_state: 'ACTIVATED' }),
  ),
  kept('flows', 'FLOW_VERSION_EXPIRY_WARNING', { event: 'FLOW_VERSION_EXPIRY_WARNING', flow_id: '51', warning: 'W' }),
  list('automatic_events', 'a lead', 'automatic_events', [
    { id: 'wamid.R', event_name: 'LeadSubmitted', timestamp: 1_795_183_569, ctwa_clid: 'clid' },
  ]),
  list('automatic_events', 'a purchase', 'automatic_events', [
    { id: 'wamid.R', event_name: 'Purchase', timestamp: 1, custom_data: { currency: 'EUR', value: 25_000 } },
  ]),
  kept('payment_configuration_update', 'a gateway', {
    ...{ configuration_name: 'c', provider_name: 'razorpay', provider_mid: 'm', status: 'Needs Testing' },
    ...{ created_timestamp: 1, updated_timestamp: 2 },
  }),
  kept('partner_solutions', 'a solution', {
    event: 'SOLUTION_CREATED',
    solution_id: '61',
    solution_status: 'INITIATED',
  }),
  ...['group_create', 'group_delete'].map((type) =>
    list('group_lifecycle_update', type, 'groups', [{ ...OF_GROUP, type }]),
  ),
  list('group_participants_update', 'added', 'groups', [
    { ...OF_GROUP, type: 'group_participants_add', reason: 'invite_link', added_participants: [{ wa_id: '4917' }] },
  ]),
  list('group_participants_update', 'removed', 'groups', [
    {
      ...OF_GROUP,
      type: 'group_participants_remove',
      initiated_by: 'business',
      removed_participants: [{ input: '4917' }],
    },
  ]),
  list('group_participants_update', 'asked', 'groups', [
    { ...OF_GROUP, type: 'group_join_request_created', join_request_id: 'j', wa_id: '4917', user_id: 'DE.1001' },
  ]),
  list('group_settings_update', 'in part', 'groups', [
    {
      ...OF_GROUP,
      type: 'group_settings_update',
      group_subject: { text: 'S', update_successful: true },
      errors: [error(1)],
    },
  ]),
  list('group_status_update', 'suspended', 'groups', [{ ...OF_GROUP, type: 'group_suspend' }]),
  kept('messaging_handovers', 'passed', {
    ...{ messaging_product: 'whatsapp', recipient: metadata, sender: { phone_number: '4917' }, timestamp: TIME },
    ...{ type: 'control_passed', control_passed: { new_owner_role: 'escalation', metadata: 'M' } },
  }),
  kept('standby', 'a message of another app', { ...head, standby: { messages: [ECHO] } }),
  kept('tracking_events', 'a conversion', { ...head, events: [{ type: 'conversion', timestamp: TIME }] }),
  kept('business_status_update', 'compromised', { business_id: 7, event: 'COMPROMISED_NOTIFICATION' }),
  kept('business_username_updates', 'approved', {
    display_phone_number: '15550200001',
    username: 'shop',
    status: 'approved',
  }),
  kept('a_field_to_come', 'anything', { event: 'NEW', deep: { list: [{ a: 1 }] } }),
]

export const NOTICES: readonly Sample[] = [...TEMPLATES, ...ACCOUNTS, ...KEPT]
