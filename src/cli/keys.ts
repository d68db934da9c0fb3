// keys: create, list, revoke, rotate. A key is shown once, when it is made.
import { z } from 'zod'
import { makeKey, revokeKey, rotateKey, showKeys } from '../accounts/commands/keys.ts'
import { networkSchema } from '../accounts/networks.ts'
import type { KeyDocument } from '../accounts/permissions.ts'
import { NO_ACCOUNT, OPERATOR, PERMISSIONS, type Permission } from '../accounts/permissions.ts'
import { listAccounts } from '../accounts/store/accounts.ts'
import { findCredentialById, newKey } from '../accounts/store/credentials.ts'
import type { Redis } from '../redis/connect.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { table } from './table.ts'
import { accountId, duration, nameUpTo, parser, permissionList, senderNames } from './values.ts'
import { type Noun, verb } from './verb.ts'

/** Whoever pastes the key itself must not see it again in a message. */
const keyId = z
  .string()
  .regex(/^key_[0-9a-f]{12}$/, 'expected the id of a key as `keys list` shows it, such as key_0f1e2d3c4b5a')

const networkList = parser('networks separated by commas, such as 10.0.0.0/8,192.0.2.7', (text) => {
  const words = text.split(',').map((word) => word.trim())
  return words.every((word) => networkSchema.safeParse(word).success) ? words : undefined
})

const NOT_OF_ONE = 'not with --operator: that key is of no account and may do everything'
const OVERLAP_MS = 86_400_000
const forOperators: readonly Permission[] = [OPERATOR]

const newKeyTyped = z
  .strictObject({
    account: accountId.optional(),
    permissions: permissionList.optional(),
    operator: z.boolean().default(false),
    name: nameUpTo(100).default(''),
    expiresIn: duration.optional(),
    senders: senderNames.default([]),
    addresses: networkList.default([]),
  })
  .transform(({ account, permissions, operator, ...how }, context) => {
    if (operator && account === undefined && permissions === undefined) {
      return { ...how, account: NO_ACCOUNT, permissions: forOperators }
    }
    for (const [path, value] of Object.entries({ account, permissions })) {
      if (operator && value !== undefined) context.addIssue({ code: 'custom', path: [path], message: NOT_OF_ONE })
      if (!operator && value === undefined) context.addIssue({ code: 'custom', path: [path], message: 'required' })
    }
    return account === undefined || permissions === undefined ? z.NEVER : { ...how, account, permissions }
  })

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
        '--senders <list>': 'the only senders it is for, by their numbers, names or ids; separated by commas',
        '--addresses <list>': 'the only networks it may be used from, such as 10.0.0.0/8; separated by commas',
      },
      values: newKeyTyped,
      async run({ account, expiresIn, ...wanted }, { redis }) {
        if (account !== NO_ACCOUNT) await existingAccount(redis, account)
        const key = newKey()
        const nowMs = Date.now()
        const expiresAtMs = expiresIn === undefined ? 0 : nowMs + expiresIn
        const made = await makeKey(redis, undefined, { ...wanted, account, expiresAtMs, key }, nowMs)
        return {
          json: { ...made, key: key.secret },
          text: shownOnce(key.secret, `This is ${made.id} of ${ownerOf(account)}; it ${endOf(made)}.`),
          acted: { account, target: made.id, detail: made.permissions.join(',') },
        }
      },
    }),

    verb({
      usage: 'list',
      summary: 'list the keys of an account, or of operators when none is given; the keys themselves are not shown',
      example: '--account 1',
      options: { '--account <id>': 'account whose keys to list (default: the keys of operators)' },
      values: z.strictObject({ account: accountId.default(NO_ACCOUNT) }),
      async run({ account }, { redis }) {
        if (account !== NO_ACCOUNT) await existingAccount(redis, account)
        const all = await showKeys(redis, account, Date.now())
        const nobody = account === NO_ACCOUNT ? 'There is no key of an operator' : `Account ${account} has no key`
        return { json: all, text: all.length === 0 ? `${nobody} yet.` : tableOf(all) }
      },
    }),

    verb({
      usage: 'revoke <id>',
      summary: 'revoke a key; takes effect within one second',
      act: 'key.revoke',
      example: 'key_0f1e2d3c4b5a',
      options: { '--account <id>': 'only if the key belongs to this account' },
      values: z.strictObject({ id: keyId, account: accountId.optional() }),
      async run({ id, account }, { redis }) {
        const owner = await ownerOfKey(redis, id, account)
        // Whoever is here can make another key.
        await revokeKey(redis, owner, id, { keepsOne: false }, Date.now())
        return {
          json: { id, account: owner === NO_ACCOUNT ? null : owner, state: 'revoked' },
          text: `${id} of ${ownerOf(owner)} is revoked.`,
          acted: { account: owner, target: id },
        }
      },
    }),

    verb({
      usage: 'rotate <id>',
      summary: 'replace a key by one with the same permissions; the old one stays valid until the overlap ends',
      act: 'key.rotate',
      example: 'key_0f1e2d3c4b5a --overlap 24h',
      options: {
        '--overlap <duration>': 'how long the old key is still good (default: 24h)',
        '--account <id>': 'only if the key belongs to this account',
      },
      values: z.strictObject({ id: keyId, overlap: duration.default(OVERLAP_MS), account: accountId.optional() }),
      async run({ id, overlap: overlapMs, account }, { redis }) {
        const owner = await ownerOfKey(redis, id, account)
        const key = newKey()
        const { made, replaced } = await rotateKey(redis, undefined, { account: owner, id, overlapMs, key }, Date.now())
        const text = `This is ${made.id} of ${ownerOf(owner)}; it ${endOf(made)}. ${id} ${endOf(replaced)}.`
        return {
          json: { ...made, key: key.secret, replaces: replaced },
          text: shownOnce(key.secret, text),
          acted: { account: owner, target: id, detail: made.id },
        }
      },
    }),
  ],
}

/** The account of a key by its id, or a failure. */
async function ownerOfKey(redis: Redis, id: string, account: number | undefined): Promise<number> {
  if (account !== undefined) await existingAccount(redis, account)
  const all = async () => [NO_ACCOUNT, ...(await listAccounts(redis)).map((each) => each.id)]
  for (const owner of account === undefined ? await all() : [account]) {
    if (await findCredentialById(redis, owner, id)) return owner
  }
  const whose = account === undefined ? 'There is' : `Account ${account} has`
  throw new CliFailure(`${whose} no key ${id}; see \`keys list --account ${account ?? '<id>'}\`.`)
}

const ownerOf = (account: number): string => (account === NO_ACCOUNT ? 'no account' : `account ${account}`)

const shownOnce = (secret: string, sentence: string): string =>
  `${secret}\n\n${sentence}\nKeep it now: it is not shown again.`

const endOf = ({ expires_at }: KeyDocument): string =>
  expires_at === null ? 'does not expire' : `expires ${seconds(expires_at)}`

const seconds = (time: string): string => `${time.slice(0, 19)}Z`

function tableOf(all: readonly KeyDocument[]): string {
  return table(
    ['ID', 'NAME', 'STATE', 'EXPIRES', 'CREATED', 'LAST USED', 'PERMISSIONS', 'ONLY FOR'],
    all.map((key) => [
      key.id,
      key.name,
      key.state,
      key.expires_at === null ? 'never' : seconds(key.expires_at),
      seconds(key.created_at),
      key.last_used_at === null ? 'never' : seconds(key.last_used_at),
      key.permissions.join(','),
      [...(key.senders ?? []).map((id) => `sender ${id}`), ...(key.addresses ?? [])].join(', '),
    ]),
  )
}
