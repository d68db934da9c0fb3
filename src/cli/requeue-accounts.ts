// Asks a person before one `messages requeue` sends messages of several accounts again.
import { listAccounts } from '../accounts/store/accounts.ts'
import { lanesOf } from '../accounts/store/senders.ts'
import type { RequeueOrder } from '../messages/requeue/jobs.ts'
import { isAnyMatching } from '../messages/requeue/search.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'
import { confirm } from './confirm.ts'
import type { CommandContext } from './verb.ts'

/**
 * The order as a person who named no account means it. When all that matches is of one account, it is for the lanes of that
 * account only. When messages of several match, it is the order as it is, once the person has agreed; a CliFailure when
 * they do not, or cannot be asked. Reads what may match, as a dry run does.
 */
export async function ofOneAccount(
  context: CommandContext,
  queues: LaneQueues,
  order: RequeueOrder,
): Promise<RequeueOrder> {
  const { redis } = context
  const matching: { account: number; order: RequeueOrder }[] = []
  for (const { id } of await listAccounts(redis)) {
    const own = new Set(await lanesOf(redis, id))
    const part = { ...order, lanes: order.lanes.filter((lane) => own.has(lane)) }
    if (await isAnyMatching({ redis, queues }, part)) matching.push({ account: id, order: part })
  }
  if (matching.length < 2) return matching[0]?.order ?? { ...order, lanes: [] }
  const sentence = `This requeues messages of ${matching.length} accounts (${matching.map(({ account }) => account).join(', ')})`
  const otherwise = 'Name one with --account, or confirm with --yes.'
  await confirm(context, { sentence, otherwise, declined: 'Nothing was requeued.' })
  return order
}
