// activity: who did what and when, over HTTP and on the command line.
import type { AuditLogEntry } from '../accounts/audit-log.ts'
import { readAuditLog } from '../accounts/store/audit-log.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { accountId, limitOption } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const COLUMNS: Columns<AuditLogEntry> = {
  AT: ({ at }) => clockTime(at),
  WHO: ({ actor }) =>
    'cli' in actor ? actor.cli : [actor.key_name, actor.key_id ?? 'unknown key'].filter(Boolean).join(', '),
  ACCOUNT: ({ account }) => account,
  ACTION: ({ action }) => action,
  TARGET: ({ target }) => target,
  DETAIL: ({ detail }) => detail,
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list who did what, the latest first',
    example: '--account 1 --limit 20',
    isDefault: true,
    values: { account: option(accountId.optional(), 'id', 'only what concerns this account'), limit: limitOption() },
    async run({ account, limit }, { redis }) {
      const { entries } = await readAuditLog(redis, { account, limit, cursor: undefined }, Date.now())
      return listed(entries, COLUMNS, 'Nothing was done yet.')
    },
  }),
]
