// keys: create, list, uses, revoke, rotate. A key is shown once, when it is made.
import { z } from 'zod'
import { listAccounts } from '../accounts/accounts.ts'
import { findCredentialById, newKey } from '../accounts/credentials.ts'
import { makeKey, revokeKey, rotateKey, showKey, showKeys } from '../admin/keys.ts'
import { networkSchema } from '../kernel/networks.ts'
import { DAY_MS } from '../kernel/time-units.ts'
import { type KeyDocument, NO_ACCOUNT, OPERATOR, PERMISSIONS, type Permission } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { type Columns, clockTime, listed } from './print.ts'
import { accountId, duration, nameUpTo, parser, permissionList, senderNames, wordsOf } from './values.ts'
import { flag, option, type Verb, verb } from './verb.ts'

/** The message does not repeat what was typed: it may be the key itself. */
const keyId = z
  .string()
  .regex(/^key_[0-9a-f]{12}$/, 'expected the id of a key as `keys list` shows it, such as key_0f1e2d3c4b5a')

const networkList = parser('networks separated by commas, such as 10.0.0.0/8,192.0.2.7', (text) => {
  return wordsOf(text, (word) => (networkSchema.safeParse(word).success ? word : undefined))
})

const forOperators: readonly Permission[] = [OPERATOR]
const OVERLAP_MS = DAY_MS
const onlyIfOf = option(accountId.optional(), 'id', 'only if the key belongs to this account')

const COLUMNS: Columns<KeyDocument> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  STATE: ({ state }) => state,
  EXPIRES: ({ expires_at }) => (expires_at === null ? 'never' : clockTime(expires_at)),
  CREATED: ({ created_at }) => clockTime(created_at),
  'LAST USED': ({ last_used_at }) => (last_used_at === null ? 'never' : clockTime(last_used_at)),
  PERMISSIONS: ({ permissions }) => permissions.join(','),
  FROM: ({ last_used_from }) => last_used_from,
  'USES (30 D)': ({ uses }) => uses.reduce((sum, { count }) => sum + count, 0),
  'ONLY FOR': ({ senders, addresses }) =>
    [...(senders ?? []).map((id) => `sender ${id}`), ...(addresses ?? [])].join(', '),
}

const USES: Columns<KeyDocument['uses'][number]> = {
  DAY: ({ day }) => day,
  COUNT: ({ count }) => count,
  'LAST FROM': ({ from }) => from,
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'create',
    summary: 'create a key; it is shown only once, because only its hash is stored',
    act: 'key.create',
    example: '--account 1 --permissions messages:send,messages:read --name "order service" --expires-in 90d',
    values: {
      account: option(accountId.optional(), 'id', 'account the key acts for'),
      permissions: option(
        permissionList.optional(),
        'list',
        `one or more of ${PERMISSIONS.join(', ')}; separated by commas`,
      ),
      operator: flag('a key of no account that may do everything, instead of an account and permissions'),
      name: option(
        nameUpTo(100).default(''),
        'name',
        'name shown in `keys list`, such as the application that uses it',
      ),
      expiresIn: option(
        duration.optional(),
        'duration',
        'such as 90s, 30m, 1h or 7d; without it the key does not expire',
      ),
      senders: option(
        senderNames.default([]),
        'list',
        'the only senders it is for, by their numbers, names or ids; separated by commas',
      ),
      addresses: option(
        networkList.default([]),
        'list',
        'the only networks it may be used from, such as 10.0.0.0/8; separated by commas',
      ),
    },
    check({ operator, account, permissions }, wrong) {
      const given = { account, permissions }
      for (const name of ['account', 'permissions'] as const) {
        const isGiven = given[name] !== undefined
        if (operator && isGiven) wrong(name, 'not with --operator: that key is of no account and may do everything')
        if (!operator && !isGiven) wrong(name, 'required')
      }
    },
    async run({ account = NO_ACCOUNT, permissions = forOperators, operator: _, expiresIn, ...wanted }, { redis }) {
      const key = newKey()
      const nowMs = Date.now()
      const expiresAtMs = expiresIn === undefined ? 0 : nowMs + expiresIn
      const made = await makeKey(redis, undefined, { ...wanted, account, permissions, expiresAtMs, key }, nowMs)
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
    values: {
      account: option(
        accountId.default(NO_ACCOUNT),
        'id',
        'account whose keys to list (default: the keys of operators)',
      ),
    },
    async run({ account }, { redis }) {
      const none = account === NO_ACCOUNT ? 'There is no key of an operator' : `Account ${account} has no key`
      return listed(await showKeys(redis, account, Date.now()), COLUMNS, `${none} yet.`)
    },
  }),

  verb({
    usage: 'uses <id>',
    summary: 'list on which of the last 30 days a key was used, how often, and from which address last',
    example: 'key_0f1e2d3c4b5a',
    values: { id: keyId, account: onlyIfOf },
    async run({ id, account }, { redis }) {
      const { uses } = await showKey(redis, await ownerOfKey(redis, id, account), id, Date.now())
      return listed(uses, USES, `${id} was not used within 30 days.`)
    },
  }),

  verb({
    usage: 'revoke <id>',
    summary: 'revoke a key; takes effect within one second',
    act: 'key.revoke',
    example: 'key_0f1e2d3c4b5a',
    values: { id: keyId, account: onlyIfOf },
    async run({ id, account }, { redis }) {
      const owner = await ownerOfKey(redis, id, account)
      // The last key of an operator may go too: another one can be made here.
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
    values: {
      id: keyId,
      overlap: option(duration.default(OVERLAP_MS), 'duration', 'how long the old key is still good (default: 24h)'),
      account: onlyIfOf,
    },
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
]

/** The account of a key by its id, or a failure. */
async function ownerOfKey(redis: Redis, id: string, account: number | undefined): Promise<number> {
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
  expires_at === null ? 'does not expire' : `expires ${clockTime(expires_at)}`
