// Asks a person before one `messages requeue` sends messages of several accounts again.
import { createInterface } from 'node:readline/promises'
import { listAccounts } from '../accounts/store/accounts.ts'
import { lanesOf } from '../accounts/store/senders.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { RequeueOrder } from '../requeue/jobs.ts'
import { isAnyMatching } from '../requeue/search.ts'
import { CliFailure } from './failure.ts'
import type { CommandContext } from './verb.ts'

/**
 * The order as a person who named no account means it. When all that matches is of one account, it is for the lanes of that
 * account only. When messages of several match, it is the order as it is, once the person has agreed; a CliFailure when
 * they do not, or cannot be asked. Reads what may match, as a dry run does.
 */
export async function ofOneAccount(
  { redis, stdin, stderr }: CommandContext,
  queues: LaneQueues,
  order: RequeueOrder,
): Promise<RequeueOrder> {
  const matching: { account: number; order: RequeueOrder }[] = []
  for (const { id } of await listAccounts(redis)) {
    const own = new Set(await lanesOf(redis, id))
    const part = { ...order, lanes: order.lanes.filter((lane) => own.has(lane)) }
    if (await isAnyMatching({ redis, queues }, part)) matching.push({ account: id, order: part })
  }
  if (matching.length < 2) return matching[0]?.order ?? { ...order, lanes: [] }
  const sentence = `This requeues messages of ${matching.length} accounts (${matching.map(({ account }) => account).join(', ')})`
  if (!('isTTY' in stdin && stdin.isTTY)) {
    throw new CliFailure(`${sentence}. Name one with --account, or confirm with --yes.`, 2)
  }
  const asking = createInterface({ input: stdin, output: stderr })
  const answer = await asking.question(`${sentence}. Continue? [y/N] `)
  asking.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure('Nothing was requeued.')
  return order
}
