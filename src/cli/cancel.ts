// messages cancel: stop one message that waits.
import { z } from 'zod'
import { NO_ACCOUNT } from '../accounts/permissions.ts'
import { findSender } from '../accounts/store/senders.ts'
import { cancelWherever } from '../messages/lookup/own-message.ts'
import { parseMessageId } from '../messages/message-id.ts'
import { CliFailure } from './failure.ts'
import { withQueues } from './lanes.ts'
import { verb } from './verb.ts'

export const cancelVerb = verb({
  usage: 'cancel <id>',
  act: 'message.cancel',
  summary: 'cancel a waiting message; it is never sent unless you requeue it',
  example: 'msg_1_01KAG3V0Z4Q8N6T2R9X5C7B1MD',
  options: {},
  values: z.strictObject({ id: z.string() }),
  run: ({ id: text }, { redis, config }) =>
    withQueues(redis, async (queues) => {
      const id = parseMessageId(text)
      const result = id && (await cancelWherever({ redis, queues, config }, id))
      if (id === undefined || result === undefined || result.verdict === 'missing') {
        throw new CliFailure(`There is no message ${text}, or it is older than the retention.`)
      }
      if (result.verdict === 'ignored') {
        throw new CliFailure(`The message is ${result.state}; only one that is queued can be cancelled.`)
      }
      const account = (await findSender(redis, id.lane))?.account ?? NO_ACCOUNT
      return { json: { id: text, state: 'cancelled' }, text: `Cancelled ${text}.`, acted: { account, target: text } }
    }),
})
