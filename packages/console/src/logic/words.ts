// Names and sentences for codes of the server: audited actions, endpoint states, opt-out sources, limits, problems.
import { TEMPLATE_PAUSED } from '../../../../src/model/campaigns/lifecycle.ts'
import type { EndpointDocument } from '../../../../src/model/events/endpoint.ts'
import type { OptOutSource } from '../../../../src/model/people/opt-out.ts'
import type { LimitInForce } from '../../../../src/producer/api/accounts/routes.ts'

const ACTS: Readonly<Record<string, string>> = {
  'access.refused': 'was refused: not permitted',
  'account.create': 'created an account',
  'account.remove': 'removed an account',
  'account.set': 'changed a setting of the account',
  'account.unset': 'reset a setting of the account',
  'campaign.cancel': 'cancelled a campaign',
  'campaign.create': 'created a campaign',
  'campaign.pause': 'paused a campaign',
  'campaign.preflight': 'had a campaign checked',
  'campaign.resume': 'resumed a campaign',
  'campaign.schedule': 'scheduled a campaign',
  'campaign.start': 'started a campaign',
  'campaign.upload_rows': 'uploaded recipients of a campaign',
  'console.sign_in': 'signed in to the console',
  'console.sign_out': 'signed out of the console',
  'contact.change': 'changed a contact',
  'contact.create': 'created a contact',
  'contact.delete': 'deleted a contact',
  'contacts.import': 'imported contacts',
  'demo.start': 'switched made-up traffic on',
  'demo.stop': 'switched made-up traffic off',
  'endpoint.change': 'changed an event endpoint',
  'endpoint.create': 'added an event endpoint',
  'endpoint.disable': 'turned an event endpoint off',
  'endpoint.remove': 'removed an event endpoint',
  'endpoint.replay': 'replayed events',
  'endpoint.rotate_secret': 'rotated the secret of an event endpoint',
  'endpoint.test': 'sent a test event',
  'key.create': 'created a key',
  'key.refused': 'was refused: the key is not valid',
  'key.revoke': 'revoked a key',
  'key.rotate': 'rotated a key',
  'redis.trust_clock': 'trusted the clock of Redis again',
  'lane.end_cooldown': 'ended the cooldown of a lane',
  'lane.pause': 'paused a lane',
  'lane.rate': 'changed the rate of a lane',
  'lane.resume': 'resumed a lane',
  'message.cancel': 'cancelled a message',
  'message.send': 'sent a message',
  'message.requeue': 'sent a message again',
  'messages.requeue': 'requeued messages',
  'people.opt_out': 'imported opt-outs',
  'person.erase': 'erased a person',
  'person.opt_in': 'removed an opt-out',
  'person.opt_out': 'added an opt-out',
  'secrets.rotate': 're-sealed the secrets',
  'sender.change': 'changed a sender',
  'sender.create': 'added a sender',
  'portfolio.create': 'created a portfolio',
  'portfolio.change': 'changed a portfolio',
  'portfolio.remove': 'removed a portfolio',
  'sender.remove': 'removed a sender',
  'sender.renew': 'renewed the token of a sender',
  'template.import': 'imported templates',
  'template.sync': 'synced templates with WhatsApp',
  'template.remove': 'removed a template',
  'flow.set_address': 'changed the address of flows',
  'flow.add_key': 'made a key for flows',
  'flow.remove_key': 'removed a key of flows',
  'flow.rotate_secret': 'made a secret for flows',
  'webhook.add_secret': 'added a webhook secret',
  'webhook.remove_secret': 'removed a webhook secret',
}

/** Such as `paused a lane`; undefined for an unknown action. */
export const actionText = (action: string): string | undefined =>
  Object.hasOwn(ACTS, action) ? ACTS[action] : undefined

interface EndpointWords {
  word: string
  tone: 'good' | 'wait' | 'bad' | 'quiet'
  means: string
}

const OFF: Readonly<Record<string, EndpointWords>> = {
  'by hand': { word: 'off', tone: 'quiet', means: 'Somebody has turned it off. Events are kept for it.' },
  gone: { word: 'off', tone: 'bad', means: 'It answered 410: it wants no more events.' },
  failing: { word: 'off', tone: 'bad', means: 'It has accepted nothing for five days.' },
}

/** The state of an endpoint as a word with its tone and meaning; an unknown reason is shown as it came. */
export function endpointWords({ enabled, disabled_for, failing_since }: EndpointDocument): EndpointWords {
  if (!enabled) return OFF[disabled_for ?? 'by hand'] ?? { word: 'off', tone: 'bad', means: `${disabled_for}.` }
  if (failing_since !== null) {
    return { word: 'failing', tone: 'wait', means: 'Events that it did not accept are tried again, later and later.' }
  }
  return { word: 'on', tone: 'good', means: 'It receives events.' }
}

const OPT_OUT_SOURCES: Readonly<Record<OptOutSource, string>> = {
  word: 'the person, by a stop word',
  provider: 'WhatsApp',
  http: 'somebody of the account',
  cli: 'somebody on the command line',
}

/** Who recorded an opt-out; an unknown source is shown as it came. */
export const optOutSource = (source: OptOutSource): string => OPT_OUT_SOURCES[source] ?? source

const LIMITS: Readonly<Record<LimitInForce['limit'], { name: string; unit: 'count' | 'bytes' | 'per second' }>> = {
  'limit.key_rate': { name: 'Requests of one key', unit: 'per second' },
  'limit.account_rate': { name: 'Requests of all keys together', unit: 'per second' },
  'limit.waiting': { name: 'Messages that wait', unit: 'count' },
  'limit.drafts': { name: 'Campaigns that were not started', unit: 'count' },
  'limit.rows_bytes': { name: 'Uploaded rows of campaigns', unit: 'bytes' },
  'limit.gallery_bytes': { name: 'Files of the gallery, trash included', unit: 'bytes' },
  'limit.contacts': { name: 'Contacts', unit: 'count' },
}

/** The name and unit of a limit; an unknown one is shown as it came. */
export const limitWords = (limit: LimitInForce['limit']) => LIMITS[limit] ?? { name: limit, unit: 'count' }

const BAD_NEWS = ['PAUSED', 'DISABLED', 'REJECTED', 'RED', 'DISABLED_UPDATE', 'ACCOUNT_RESTRICTION', 'ACCOUNT_DELETED']
const WARNINGS = ['FLAGGED', 'YELLOW', 'DOWNGRADE', 'ACCOUNT_VIOLATION', 'PENDING_DELETION']
const GOOD_NEWS = ['APPROVED', 'REINSTATED', 'UNPAUSED', 'UNFLAGGED', 'GREEN', 'UPGRADE', 'THROUGHPUT_UPGRADE']

/** How bad an event is, by WhatsApp's own word for it. */
export const noticeTone = (event: string): 'good' | 'wait' | 'bad' | 'quiet' =>
  BAD_NEWS.includes(event) ? 'bad' : WARNINGS.includes(event) ? 'wait' : GOOD_NEWS.includes(event) ? 'good' : 'quiet'

/** Why a campaign is paused, without the code word at its beginning. */
export const reasonText = (reason: string): string => reason.replace(`${TEMPLATE_PAUSED}: `, '')

/** Why a message failed, with the code. Sentences of a provider contain it already. */
export const problemText = ({ code, sentence }: { code: string; sentence: string }): string =>
  sentence.includes(code) ? sentence : `${code}: ${sentence}`
