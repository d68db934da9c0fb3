// keys: create, list, revoke. A key is shown once, when it is made.
import { z } from 'zod'
import { NO_ACCOUNT, OPERATOR, type Permission } from '../accounts/permissions.ts'
import { listAccounts } from '../accounts/store/accounts.ts'
import {
  type Credential,
  createCredential,
  listCredentials,
  PERMISSIONS,
  revokeCredential,
} from '../accounts/store/credentials.ts'
import { readKeyUses } from '../accounts/store/key-uses.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { clockTime, table } from './table.ts'
import { accountId, duration, nameUpTo, permissionList } from './values.ts'
import { type Noun, verb } from './verb.ts'

const KEY_ID = /^key_[0-9a-f]{12}$/

export const keys: Noun = {
  name: 'keys',
  summary: 'API keys of applications and people',
  verbs: [
    verb({
      usage: 'create',
      summary: 'create a key; it is shown only once, because only its hash is stored',
      act: 'key.create',
      example: '--account 1 --permissions messages:send,messages:read --name "order service" --expires-in 90d',
      options: {
        '--account <id>': 'account the key acts for',
        '--permissions <list>': `one or more of ${PERMISSIONS.join(', ')}; separated by commas`,
        '--operator': 'a key of no account that may do everything, instead of an account and permissions',
        '--name <name>': 'name shown in `keys list`, such as the application that uses it',
        '--expires-in <duration>': 'such as 90s, 30m, 1h or 7d; without it the key does not expire',
      },
      values: z
        .strictObject({
          account: accountId.optional(),
          permissions: permissionList.optional(),
          operator: z.boolean().default(false),
          name: nameUpTo(100).default(''),
          expiresIn: duration.optional(),
        })
        .transform(({ account, permissions, operator, ...how }, context) => {
          if (operator && account === undefined && permissions === undefined) {
            return {
              ...how,
              account: NO_ACCOUNT,
              permissions: [OPERATOR] satisfies Permission[] as readonly Permission[],
            }
          }
          for (const [path, value] of Object.entries({ account, permissions })) {
            if (operator && value !== undefined) context.addIssue({ code: 'custom', path: [path], message: NOT_OF_ONE })
            if (!operator && value === undefined)
              context.addIssue({ code: 'custom', path: [path], message: 'required' })
          }
          return account === undefined || permissions === undefined ? z.NEVER : { ...how, account, permissions }
        }),
      async run({ account, permissions, name, expiresIn }, { redis }) {
        if (account !== NO_ACCOUNT) await existingAccount(redis, account)
        const nowMs = Date.now()
        const expiresAtMs = expiresIn === undefined ? 0 : nowMs + expiresIn
        const { id, secret } = await createCredential(redis, account, permissions, nowMs, expiresAtMs, name)
        const until = expiresAtMs === 0 ? 'does not expire' : `expires ${clockTime(expiresAtMs)}`
        return {
          json: { id, name, key: secret, account: account || null, permissions, expires_at: isoOrNull(expiresAtMs) },
          text: `${secret}\n\nThis is ${id} of ${ownerOf(account)}; it ${until}.\nKeep it now: it is not shown again.`,
          acted: { account, target: id, detail: permissions.join(',') },
        }
      },
    }),

    verb({
      usage: 'list',
      summary:
        'list the keys of an account, or without one those of the whole installation, but not the keys themselves',
      example: '--account 1',
      options: { '--account <id>': 'account whose keys to list (default: the keys of no account)' },
      values: z.strictObject({ account: accountId.default(NO_ACCOUNT) }),
      async run({ account }, { redis }) {
        if (account !== NO_ACCOUNT) await existingAccount(redis, account)
        const [keys, uses] = await Promise.all([listCredentials(redis, account), readKeyUses(redis, account)])
        const nobody =
          account === NO_ACCOUNT ? 'There is no key of the whole installation' : `Account ${account} has no key`
        return {
          json: keys.map((key) => documentOf(key, uses.get(key.id))),
          text: keys.length === 0 ? `${nobody} yet.` : tableOf(keys, uses),
        }
      },
    }),

    verb({
      usage: 'revoke <id>',
      summary: 'revoke a key; takes effect within one second',
      act: 'key.revoke',
      example: 'key_0f1e2d3c4b5a',
      options: { '--account <id>': 'only if the key belongs to this account' },
      values: z.strictObject({
        // Whoever pastes the key itself must not see it again in a message.
        id: z.string().regex(KEY_ID, 'expected the id of a key as `keys list` shows it, such as key_0f1e2d3c4b5a'),
        account: accountId.optional(),
      }),
      async run({ id, account }, { redis }) {
        if (account !== undefined) await existingAccount(redis, account)
        const all = async () => [NO_ACCOUNT, ...(await listAccounts(redis)).map((each) => each.id)]
        const accounts = account === undefined ? await all() : [account]
        for (const owner of accounts) {
          if (!(await revokeCredential(redis, owner, id))) continue
          return {
            json: { id, account: owner || null, state: 'revoked' },
            text: `${id} of ${ownerOf(owner)} is revoked.`,
            acted: { account: owner, target: id },
          }
        }
        const whose = account === undefined ? 'There is' : `Account ${account} has`
        throw new CliFailure(`${whose} no key ${id}; see \`keys list --account ${account ?? '<id>'}\`.`)
      },
    }),
  ],
}

const NOT_OF_ONE = 'not with --operator: that key is of no account and may do everything'

const ownerOf = (account: number): string => (account === NO_ACCOUNT ? 'the whole installation' : `account ${account}`)

const isoOrNull = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString())

function stateOf(key: Credential): 'active' | 'expired' | 'revoked' {
  if (key.revoked) return 'revoked'
  return key.expires_at !== 0 && key.expires_at <= Date.now() ? 'expired' : 'active'
}

const documentOf = (key: Credential, lastUsedAtMs = 0) => ({
  id: key.id,
  name: key.name,
  account: key.account || null,
  permissions: key.permissions,
  state: stateOf(key),
  expires_at: isoOrNull(key.expires_at),
  created_at: isoOrNull(key.created_at),
  /** To the minute. */
  last_used_at: isoOrNull(lastUsedAtMs),
})

function tableOf(keys: readonly Credential[], uses: ReadonlyMap<string, number>): string {
  return table(
    ['ID', 'NAME', 'STATE', 'EXPIRES', 'CREATED', 'LAST USED', 'PERMISSIONS'],
    keys.map((key) => [
      key.id,
      key.name,
      stateOf(key),
      key.expires_at === 0 ? 'never' : clockTime(key.expires_at),
      clockTime(key.created_at),
      lastUse(uses.get(key.id)),
      key.permissions.join(','),
    ]),
  )
}

const lastUse = (ms: number | undefined): string => (ms === undefined ? 'never' : clockTime(ms))
