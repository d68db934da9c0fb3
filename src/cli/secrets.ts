// secrets rotate: seals tokens and webhook secrets anew under the first secret key.
import { type Rotation, rotateSecrets } from '../admin/rotate-secrets.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import { CliFailure } from './failure.ts'
import { type Verb, verb } from './verb.ts'

export const verbs: readonly Verb[] = [
  verb({
    usage: 'rotate',
    summary: 'seal all secrets again under the first of LANEWAY_SECRET_KEYS, while all parts run',
    act: 'secrets.rotate',
    example: '--json',
    values: {},
    async run(_, { redis, config }) {
      const rotation = await rotateSecrets(redis, createSeal(secretKeysOf(config)))
      if (rotation.unreadable.length > 0) throw new CliFailure(unreadableSentence(rotation))
      const { sealed, fresh } = rotation
      return {
        json: { sealed, fresh },
        text: `${sealed} secrets were sealed anew, ${fresh} had the first key before.`,
        acted: { account: NO_ACCOUNT, detail: String(sealed) },
      }
    },
  }),
]

const NAMED_MAX = 20

function unreadableSentence({ sealed, fresh, unreadable }: Rotation): string {
  const names = unreadable.slice(0, NAMED_MAX).map(({ kind, id }) => `${kind} ${id}`)
  const more = unreadable.length > NAMED_MAX ? ' and others' : ''
  const mend = 'add the key that they were sealed under, or set them again (`senders renew`, `accounts set`)'
  const failed = `${unreadable.length} cannot be opened (${names.join(', ')}${more}): ${mend}`
  return `${sealed} secrets were sealed anew, ${fresh} had the first key before; ${failed}.`
}
