// activity: who did what and when, over HTTP and on the command line. notices: WhatsApp's updates of accounts, numbers
// and templates.

import { readAuditLog } from '../accounts/audit-log.ts'
import type { Actor, AuditLogEntry } from '../model/accounts/audit-log.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { NoticeDocument } from '../model/notice.ts'
import { readNotices } from '../reports/notices.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { senderNamed } from './session.ts'
import { accountId, limitOption, nameUpTo, senderName } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const COLUMNS: Columns<AuditLogEntry> = {
  AT: ({ at }) => clockTime(at),
  WHO: ({ actor }) => whoOf(actor),
  ACCOUNT: ({ account }) => account,
  ACTION: ({ action }) => action,
  TARGET: ({ target, target_name: name }) => (name === null ? target : `${target} ${name}`),
  DETAIL: ({ detail }) => detail,
}

function whoOf(actor: Actor): string {
  if ('system' in actor) return actor.system
  if ('cli' in actor) return actor.cli
  return [actor.key_name, actor.key_id ?? 'unknown key'].filter(Boolean).join(', ')
}

const concerning = {
  account: option(accountId.optional(), 'id', 'only what concerns this account'),
  limit: limitOption(),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list who did what, the latest first',
    example: '--account 1 --limit 20',
    isDefault: true,
    values: concerning,
    async run({ account, limit }, { redis }) {
      const { entries } = await readAuditLog(redis, { account, limit, cursor: undefined }, Date.now())
      return listed(entries, COLUMNS, 'Nothing was done yet.')
    },
  }),
]

const NOTICE_COLUMNS: Columns<NoticeDocument> = {
  AT: ({ at }) => clockTime(at),
  ACCOUNT: ({ account }) => account ?? '',
  SENDER: ({ sender }) => sender ?? '',
  FIELD: ({ field }) => field,
  SAYS: ({ sentence, missed }) => `${sentence}${missed === 0 ? '' : ` (${missed} before it were too many to be kept)`}`,
}

export const noticeVerbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: "list WhatsApp's updates of accounts, numbers and templates, the latest first",
    example: '--account 1 --limit 20',
    isDefault: true,
    values: {
      ...concerning,
      field: option(nameUpTo(64).optional(), 'field', 'only of this field of a webhook, such as account_update'),
      sender: option(senderName.optional(), 'sender', 'only about one sender, by its number, name or id'),
      template: option(nameUpTo(512).optional(), 'name', 'only about the templates of this name'),
    },
    async run({ account = NO_ACCOUNT, limit, sender: named, ...filter }, { redis }) {
      const sender = named === undefined ? undefined : (await senderNamed(redis, named)).id
      const { notices } = await readNotices(redis, { account, limit, filter: { ...filter, sender } }, Date.now())
      return listed(notices, NOTICE_COLUMNS, 'No notice yet.')
    },
  }),
]
