// The loop that delivers to one endpoint, for as long as this process is the relay.

import type { Sender } from '../accounts/senders.ts'
import type { Config } from '../kernel/config.ts'
import { waitAtMost } from '../kernel/deadline.ts'
import { createTargetAgent } from '../outbound/target-agent.ts'
import type { TargetRule } from '../outbound/target-rule.ts'
import type { DeliveryDeps, Target } from './deliver.ts'
import { createRetries } from './endpoint-retries.ts'
import { createPump, MOST_AT_ONCE } from './pump.ts'
import type { Endpoint } from './store/endpoints.ts'

/** Wait (ms) of the pump after a failed round, as when Redis is away. */
const TROUBLE_MS = 500

export type EndpointDelivery = ReturnType<typeof startEndpointDelivery>

/** Starts delivering to an endpoint. */
export function startEndpointDelivery(
  deps: DeliveryDeps & { config: Pick<Config, 'events'>; rule: TargetRule },
  endpoint: Endpoint,
  senders: ReadonlyMap<number, Sender>,
) {
  const stopping = new AbortController()
  const target: Target = {
    ...{ endpoint, senders, agent: createTargetAgent(deps.rule, MOST_AT_ONCE) },
    ...{ failures: 0, pausedUntil: 0, successNotedAt: 0 },
  }
  const retries = createRetries(deps, target, stopping.signal)
  const pump = createPump(deps, target, retries)

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let waitMs = TROUBLE_MS
      try {
        waitMs = await pump.step(stopping.signal)
      } catch (error) {
        if (!stopping.signal.aborted) deps.log.warn({ endpoint: endpoint.id, err: error }, 'events.not_told')
      }
      await new Promise((resolve) => (waitMs === 0 ? setImmediate(resolve) : setTimeout(resolve, waitMs)))
    }
  }
  const running = run()

  return {
    owner: { account: endpoint.account, id: endpoint.id },
    target,
    waiting: retries.waiting,
    oldestWaiting: pump.oldestWaiting,

    /** Updates its record. */
    update(now: Endpoint, nowSenders: ReadonlyMap<number, Sender>): void {
      // Enabled again: earlier failures do not count.
      if (now.enabled && !target.endpoint.enabled) {
        target.failures = 0
        target.pausedUntil = 0
      }
      target.endpoint = now
      target.senders = nowSenders
    },

    /** Checks its queue for due jobs. */
    checkQueue: retries.check,

    /** Ends within `limitMs`; deliveries in flight are aborted, and made again by the next relay. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort()
      await waitAtMost(limitMs, running)
      await retries.stop(limitMs)
      await target.agent.destroy()
    },
  }
}
