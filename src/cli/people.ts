// people: show, erase. All that is kept of a person of an account, and forgetting it.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { secretKeysOf } from '../accounts/seal.ts'
import { counted } from '../messages/fault.ts'
import { type Erasure, findErasure, newErasureId, openErasureQueue } from '../people/erasures.ts'
import { personPieces } from '../people/gather.ts'
import { parsePerson } from '../people/person.ts'
import { createTombstones } from '../people/tombstones.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { accountKey } from '../redis/keys.ts'
import { keptAccount } from './accounts.ts'
import { confirm } from './confirm.ts'
import { CliFailure } from './failure.ts'
import { accountId, parser } from './values.ts'
import { type Noun, verb } from './verb.ts'

const person = parser('a full international number such as +14155550123, or the id of a person', parsePerson)
const LOOK_MS = 50
/** A worker takes an erasure up at once; without one it waits. */
const NOBODY_MS = 5_000

const shown = z.object({
  data: z.looseObject({
    contact: z.unknown(),
    opt_out: z.unknown(),
    messages: z.array(z.unknown()),
    campaigns: z.array(z.unknown()),
  }),
})

export const people: Noun = {
  name: 'people',
  summary: 'show all that is kept of a person, or forget it',
  verbs: [
    verb({
      usage: 'show <person>',
      summary: 'show what is kept of a person, by number or id; all of it with --json',
      example: '+14155550123 --account 1 --json',
      options: { '!--account <id>': 'account whose data it is' },
      values: z.strictObject({ person, account: accountId }),
      async run({ person, account }, { redis, config }) {
        await keptAccount(redis, account)
        let text = ''
        for await (const piece of personPieces({ redis, config }, account, person, Date.now())) text += piece
        const { data } = shown.parse(JSON.parse(text))
        const contact = data.contact === null ? 'No contact' : 'A contact'
        const optOut = data.opt_out === null ? 'no opt-out' : 'an opt-out'
        const rest = `${optOut}, ${counted(data.messages.length, 'message')}, ${counted(data.campaigns.length, 'campaign')}`
        return { json: data, text: `${contact}, ${rest}. All of it: --json.` }
      },
    }),
    verb({
      usage: 'erase <person>',
      act: 'person.erase',
      summary: 'erase all that is kept of a person, by number or id, except the figures',
      example: '+14155550123 --account 1',
      options: { '!--account <id>': 'account whose data it is', '--yes': 'do not ask first' },
      values: z.strictObject({ person, account: accountId, yes: z.boolean().default(false) }),
      async run({ person, account, yes }, context) {
        const { redis, config } = context
        const { name } = await keptAccount(redis, account)
        if (!yes) {
          await confirm(context, {
            sentence: `This erases for good all that account ${account} (${name}) keeps of this person`,
            otherwise: 'Confirm with --yes.',
            declined: 'Nothing was erased.',
          })
        }
        const nowMs = await redisNowMs(redis, accountKey(account))
        const id = newErasureId(nowMs)
        await createTombstones(redis, secretKeysOf(config)).bury(account, person, nowMs, config.retentionMs)
        const erasures = openErasureQueue(redis)
        try {
          await erasures.start(id, { account, person, nowMs })
        } finally {
          await erasures.close()
        }
        const { contacts, messages, received, recipients } = await follow(redis, id)
        const found = [
          counted(contacts, 'contact'),
          counted(messages, 'message'),
          counted(received, 'received message'),
          `${counted(recipients, 'line')} in files of campaigns`,
        ]
        return {
          json: { job_id: id, contacts, messages, received, recipients },
          text: `Forgotten: ${found.join(', ')}.`,
          acted: { account, target: id },
        }
      },
    }),
  ],
}

/** The erasure once it is done. One that nobody takes up is left to the next worker. */
async function follow(redis: Redis, id: string): Promise<Erasure> {
  for (const begunAt = performance.now(); ; await sleep(LOOK_MS)) {
    const found = await findErasure(redis, id)
    if (found?.state === 'done') return found
    if (found === undefined || found.state === 'failed') {
      throw new CliFailure(`The job ${id} failed; see the log of the worker.`)
    }
    if (found.state === 'waiting' && performance.now() - begunAt > NOBODY_MS) {
      throw new CliFailure(`No worker is running. The job ${id} is queued and starts with the next one.`)
    }
  }
}
