// flows: show, address, add-key, remove-key, rotate-secret. How an account's flows are served.
import { z } from 'zod'
import { changeFlowAddress, rotateFlowSecret } from '../flows/flow-address.ts'
import type { FlowSettings } from '../flows/flow-request.ts'
import { addFlowKey, flowSettings, removeFlowKeys } from '../flows/flow-settings.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { redisNowMs } from '../redis/clock.ts'
import { keyValueTable } from './print.ts'
import { existingAccount } from './session.ts'
import { accountId } from './values.ts'
import { type CommandContext, flag, type Verb, verb } from './verb.ts'

const NONE = 'none'

const sealOf = ({ config }: CommandContext) => createSeal(secretKeysOf(config))

const summary = ({ address, secrets, keys }: FlowSettings): string =>
  keyValueTable([
    ['Address', address ?? 'none: flows are answered with an error'],
    ['Secrets', String(secrets)],
    ...keys.map(({ id, created_at }): [string, string] => ['Key', `${id}, made ${created_at}`]),
  ]) +
  keys
    .slice(0, 1)
    .map(({ public_key }) => `\n\n${public_key}`)
    .join('')

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show <account>',
    summary: 'show where flows are answered, their keys, and the newest public key',
    example: '1',
    values: { account: accountId },
    async run({ account }, context) {
      await existingAccount(context.redis, account)
      const settings = await flowSettings(context.redis, sealOf(context), account)
      return { json: settings, text: summary(settings) }
    },
  }),
  verb({
    usage: 'address <account> <url>',
    summary: `set where the account's own server answers its flows; ${NONE} for nowhere`,
    act: 'flow.set_address',
    example: '1 https://shop.example/flows',
    values: { account: accountId, url: z.union([z.literal(NONE), z.url({ protocol: /^https?$/ }).max(2_048)]) },
    async run({ account, url }, context) {
      const { redis, config } = context
      await existingAccount(redis, account)
      const commands = { redis, seal: sealOf(context), allowPrivate: config.events.allowPrivate }
      const address = url === NONE ? null : url
      const secret = await changeFlowAddress(commands, account, address)
      const kept =
        secret === null ? '' : `\n\n${secret}\n\nKeep it now: it signs what is asked, and is not shown again.`
      return {
        json: { address, secret },
        text: `Flows of account ${account} are answered by ${address ?? 'nobody'}.${kept}`,
        acted: { account, target: String(account) },
      }
    },
  }),
  verb({
    usage: 'add-key <account>',
    summary: 'make a key and print its public half, to be uploaded to WhatsApp; the one before stays good',
    act: 'flow.add_key',
    example: '1',
    values: { account: accountId },
    async run({ account }, context) {
      const { redis } = context
      await existingAccount(redis, account)
      const key = await addFlowKey(redis, sealOf(context), account, await redisNowMs(redis))
      return { json: key, text: key.public_key, acted: { account, target: key.id } }
    },
  }),
  verb({
    usage: 'remove-key <account>',
    summary: 'remove the older of two keys',
    act: 'flow.remove_key',
    example: '1',
    values: { account: accountId, all: flag('remove the newest too') },
    async run({ account, all }, context) {
      const { redis } = context
      await existingAccount(redis, account)
      const removed = await removeFlowKeys(redis, account, all)
      const settings = await flowSettings(redis, sealOf(context), account)
      return {
        json: settings,
        text: `Removed ${removed}.\n${summary(settings)}`,
        acted: { account, detail: String(removed) },
      }
    },
  }),
  verb({
    usage: 'rotate-secret <account>',
    summary: "create another secret that signs requests to the account's server; the previous one signs as well",
    act: 'flow.rotate_secret',
    example: '1',
    values: { account: accountId },
    async run({ account }, context) {
      await existingAccount(context.redis, account)
      const secret = await rotateFlowSecret(context.redis, sealOf(context), account)
      return {
        json: { secret },
        text: `${secret}\n\nKeep it now: it is not shown again. The old one signs on beside it.`,
        acted: { account, target: String(account) },
      }
    },
  }),
]
