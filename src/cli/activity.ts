// activity: who did what and when, over HTTP and on the command line. notices: WhatsApp's updates of accounts, numbers and templates.
import { type Actor, type AuditLogEntry, auditLogEntrySchema } from '../model/accounts/audit-log.ts'
import { noticeDocumentSchema } from '../model/notice.ts'
import { activity, notices } from '../producer/api/activity/routes.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

function whoOf(actor: Actor): string {
  if ('system' in actor) return actor.system
  if ('cli' in actor) return actor.cli
  return [actor.key_name, actor.key_id ?? 'unknown key'].filter(Boolean).join(', ')
}

const targetOf = ({ target, target_name: name }: AuditLogEntry): string =>
  [target, name].filter((part) => part !== null).join(' ')

export const verbs: readonly RouteVerb[] = [
  routeVerb('activity', 'list', activity.list, {
    isDefault: true,
    example: '--account 1 --limit 20',
    columns: ['at', 'who', 'account', 'action', 'target', 'detail'],
    cells: {
      who: (row) => whoOf(auditLogEntrySchema.parse(row).actor),
      target: (row) => targetOf(auditLogEntrySchema.parse(row)),
    },
    none: 'Nothing was done yet.',
  }),
]

export const noticeVerbs: readonly RouteVerb[] = [
  routeVerb('notices', 'list', notices.list, {
    isDefault: true,
    example: '--account 1 --limit 20',
    columns: ['at', 'account', 'sender', 'field', 'says'],
    cells: {
      says(row) {
        const { sentence, missed } = noticeDocumentSchema.parse(row)
        return missed === 0 ? sentence : `${sentence} (${missed} before it were too many to be kept)`
      },
    },
    none: 'No notice yet.',
  }),
]
