// activity: who did what and when, over HTTP and on the command line.
import { z } from 'zod'
import type { ActivityEntry } from '../accounts/audit-log.ts'
import { readActivity } from '../accounts/store/audit-log.ts'
import { existingAccount } from './accounts.ts'
import { table } from './table.ts'
import { accountId, parser } from './values.ts'
import { type Noun, verb } from './verb.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

const limit = parser(`a number from 1 to ${LIMIT_MAX}`, (text) =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= LIMIT_MAX ? Number(text) : undefined,
)

export const activity: Noun = {
  name: 'activity',
  summary: 'who did what and when, kept for 90 days',
  verbs: [
    verb({
      usage: 'list',
      summary: 'list who did what, the latest first',
      example: '--account 1 --limit 20',
      isDefault: true,
      options: {
        '--account <id>': 'only what concerns this account',
        '--limit <number>': `how many to list (default: ${LIMIT_DEFAULT})`,
      },
      values: z.strictObject({ account: accountId.optional(), limit: limit.default(LIMIT_DEFAULT) }),
      async run({ account, limit: most }, { redis }) {
        if (account !== undefined) await existingAccount(redis, account)
        const { entries } = await readActivity(redis, { account, limit: most, cursor: undefined }, Date.now())
        return { json: entries, text: entries.length === 0 ? 'Nothing was done yet.' : tableOf(entries) }
      },
    }),
  ],
}

const tableOf = (entries: readonly ActivityEntry[]): string =>
  table(
    ['AT', 'WHO', 'ACCOUNT', 'ACTION', 'TARGET', 'DETAIL'],
    entries.map(({ at, actor, account, action, target, detail }) => [
      `${at.slice(0, 19)}Z`,
      'cli' in actor ? actor.cli : [actor.key_name, actor.key_id ?? 'unknown key'].filter(Boolean).join(', '),
      account === null ? '' : String(account),
      action,
      target ?? '',
      detail ?? '',
    ]),
  )
