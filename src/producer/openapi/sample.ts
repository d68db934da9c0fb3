// Answers as the description shows them, made from their schemas: each field has the value listed for its name, or else the
// plainest value of its type. A more telling example is given with its route.
import { z } from 'zod'
import type { Example, RouteSpec } from '../route.ts'

/** By the name of a field, or by those of its schema and the field where several things have one name. */
const VALUES: Readonly<Record<string, unknown>> = {
  account: 1,
  answer: 'try later',
  at: '2026-11-21T10:00:00.000Z',
  attempt: 1,
  base_url: 'https://provider.example',
  category: 'UTILITY',
  chatapp_compatibility_reason: 'Can be sent: files of type image/png are sent as image, at most 5 MB.',
  code: '131026',
  columns: ['phone', 'name'],
  components: [{ type: 'BODY', text: 'Your gift for {{1}} is on its way.' }],
  count: 19,
  delivery: 'tst_01M7WMMBQHKTZHMT677YAAW3FV',
  email: 'ada@shop.example',
  encoding: 'utf-8',
  except: [],
  host: 'host-1',
  id: 1,
  is_chatapp_compatible: true,
  job_id: 'rq_01M7WMMBQHKTZHMT677YAAW3FV',
  key: 'lw_00000000000000000000000000000000000000',
  lane: 1,
  language: 'en_US',
  line: 3,
  meaning: 'the message cannot be delivered to this recipient',
  message: 'file 7 does not exist',
  message_from: '447700900001',
  message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP',
  mime_type: 'image/png',
  name: 'Spring',
  number: '447700900001',
  ok: true,
  original_name: 'spring.png',
  path: 'file_ids',
  permissions: ['messages:send', 'messages:read'],
  person: '447700900123',
  phone: '447700900123',
  rate: 80,
  rate_per_s: 80,
  reason: 'phone: expected a full international number',
  replay_id: 'rpl_01M7WMMBQHKTZHMT677YAAW3FV',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
  sender: '447700900001',
  senders: [],
  sent_per_s: 79.6,
  sentence: 'Redis has appendonly yes.',
  separator: ',',
  state: 'running',
  status: 'APPROVED',
  status_url: 'http://127.0.0.1:3000/jobs/rq_01M7WMMBQHKTZHMT677YAAW3FV',
  step_s: 10,
  tags: [1],
  text: 'https://shop.example/spring.png',
  timestamp: 1_795_183_568,
  to: '447700900123',
  took_ms: 12,
  user_id: '1',
  values: ['Ada Example'],
  version: '0.1.0',
  'Account.name': 'Corner shop',
  'Account.opt_out.start_words': 'start',
  'Account.opt_out.stop_words': 'stop,unsubscribe',
  'Account.policy.campaign': 'at_most_once',
  'Activity.action': 'lane.pause',
  'Activity.target': '1',
  'Campaign.id': 'cmp_2_1',
  'Campaign.reason': null,
  'ConsoleCampaign.id': 'cmp_2_1',
  'ConsoleLane.bound': 'nothing',
  'ConsoleLane.name': 'shop',
  'ConsoleLane.reason': null,
  'ConsoleLane.sender': 1,
  'ConsoleLane.state': 'sending',
  'ConsoleSession.account': { id: 1, name: 'shop' },
  'ConsoleSession.default_sender': true,
  'ConsoleSession.key_name': 'Ada',
  'Contact.name': 'Ada Example',
  'ContactEntry.name': 'Ada Example',
  'ContactList.name': 'Newsletter',
  'ContactRecord.name': 'Ada Example',
  'Conversation.open': true,
  'Conversation.open_until': '2026-11-22T10:00:00.000Z',
  'DeadLetter.id': 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
  'DeadLetter.reason': 'its content cannot be read',
  'Erasure.job_id': 'er_01M7WMMBQHKTZHMT677YAAW3FV',
  'EventAttempt.delivery': 'bat_5pXh0wqk1vC2nM8rT3yUzL9aE7f',
  'EventAttempt.types': ['message.delivered'],
  'EventEndpoint.enabled': true,
  'EventEndpoint.id': 'ep_5f0c2a7d9b1e4f6a8c',
  'EventEndpoint.types': ['message.delivered', 'message.failed'],
  'EventEndpoint.url': 'https://shop.example/hooks/laneway',
  'File.extension': 'png',
  'File.hash': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'File.name': 'spring.png',
  'File.path': 'gallery/9f/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'File.url': 'http://127.0.0.1:3000/media/4cJ0q6m9wXy2/spring.png',
  'Key.id': 'key_0f1e2d3c4b5a',
  'Key.name': 'order service',
  'KeyUse.day': '2026-11-21',
  'Lane.cooldown_code': '',
  'Lane.cooldown_for': '',
  'Lane.name': 'shop',
  'Lane.paused_by': '',
  'Lane.paused_for': '',
  'LimitInForce.limit': 'limit.waiting',
  'LimitInForce.most': 10_000_000,
  'ListedTemplate.id': 'gift_note/en_US',
  'ListedTemplate.name': 'gift_note',
  'MessageEvent.event': 'accepted',
  'MessageInfo.message_text': 'Spring is here',
  'MessageInfo.message_type': 'image',
  'NewKey.id': 'key_0f1e2d3c4b5a',
  'NewKey.name': 'order service',
  'NewlyMadeEventEndpoint.id': 'ep_5f0c2a7d9b1e4f6a8c',
  'NewlyMadeEventEndpoint.types': ['message.delivered', 'message.failed'],
  'NewlyMadeEventEndpoint.url': 'https://shop.example/hooks/laneway',
  'Notice.event': 'PAUSED',
  'Notice.field': 'message_template_status_update',
  'Notice.id': 'message_template_status_update.q2Jm0f3yYk1nR8sT5uVwXz',
  'Notice.sentence': 'Template gift_note (en_US) is PAUSED.',
  'Portfolio.daily_limit': 10_000,
  'Portfolio.name': 'Shop Ltd',
  'Portfolio.reserve_percent': 10,
  'Sender.name': 'shop',
  'SentMessage.id': 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
  'SentMessage.kind': 'image',
  'Template.name': 'gift_note',
  'Template.parameter_format': 'POSITIONAL',
}

/** The answer of an example, as given with the route or else made from the schema; undefined where it is no JSON. */
export function shownAnswer({ answers }: Pick<RouteSpec, 'answers'>, { status, says, answer }: Example): unknown {
  if (answer !== undefined) return answer
  const declared = answers[status]
  const schema = declared instanceof z.ZodType ? declared : declared?.schema
  if (schema === undefined) return undefined
  const sample = sampleOf(schema)
  return says === undefined ? sample : { ...Object(sample), message: says }
}

/** A value that the schema takes. */
function sampleOf(schema: z.ZodType, owner = '', field = ''): unknown {
  for (const name of [`${owner}.${field}`, field]) {
    if (Object.hasOwn(VALUES, name) && schema.safeParse(VALUES[name]).success) return VALUES[name]
  }
  if (schema instanceof z.ZodObject) return objectOf(schema)
  if (schema instanceof z.ZodArray) return listOf(schema, owner, field)
  if (schema instanceof z.ZodEnum) return schema.options[0]
  if (schema instanceof z.ZodLiteral) return schema.value
  if (schema instanceof z.ZodISODateTime) return TIMES.find((time) => schema.safeParse(time).success)
  if (schema instanceof z.ZodString) return field
  if (schema instanceof z.ZodNumber) return [0, 1, schema.minValue].find((each) => schema.safeParse(each).success)
  if (schema instanceof z.ZodBoolean) return false
  if (schema instanceof z.ZodRecord) return {}
  if (schema instanceof z.ZodTuple) return []
  if (schema instanceof z.ZodUnion) return sampleOf(inside(schema.options[0]), owner, field)
  if (schema instanceof z.ZodReadonly) return sampleOf(inside(schema.unwrap()), owner, field)
  // A nullable value is null, unless one is listed for its name.
  return null
}

/** To the millisecond, and to the microsecond as the gallery has them. */
const TIMES = ['2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000000Z']

/** Without the fields that may be left out. */
function objectOf(schema: z.ZodObject): object {
  const owner = z.globalRegistry.get(schema)?.id
  const fields = Object.entries<z.ZodType>(schema.shape).filter(([, each]) => !(each instanceof z.ZodOptional))
  return Object.fromEntries(fields.map(([name, each]) => [name, sampleOf(each, owner, name)]))
}

/** As few as there must be, and one at least. */
function listOf(schema: z.ZodArray, owner: string, field: string): unknown[] {
  const item = sampleOf(inside(schema.element), owner, field)
  const [issue] = schema.safeParse([item]).error?.issues ?? []
  const least = issue?.code === 'too_small' && issue.path.length === 0 ? Number(issue.minimum) : 1
  return Array.from({ length: least }, () => item)
}

/** Zod's types reveal of an inner schema only that it is one. */
function inside(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodType) return schema
  throw new Error('a schema of another kind')
}
