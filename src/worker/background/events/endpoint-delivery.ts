// One endpoint that is being told, with all that belongs to it: its connections, its pump, its retries.
import type { Sender } from '../../../accounts/store/senders.ts'
import type { Config } from '../../../config.ts'
import type { Endpoint } from '../../../events/store/endpoints.ts'
import type { TargetRule } from '../../../events/targets.ts'
import { createTargetAgent } from '../../../events/targets.ts'
import type { DeliveryDeps, Target } from './deliver.ts'
import { createPump } from './pump.ts'
import { createRetries } from './retries.ts'

/** The pump rests so long (ms) after a round that could not be done, as when Redis is away. */
const TROUBLE_MS = 500

export type EndpointDelivery = ReturnType<typeof startEndpointDelivery>

/** Tells an endpoint from now on. */
export function startEndpointDelivery(
  deps: DeliveryDeps & { config: Pick<Config, 'events'>; rule: TargetRule },
  endpoint: Endpoint,
  senders: ReadonlyMap<number, Sender>,
) {
  const stopping = new AbortController()
  const target: Target = {
    ...{ endpoint, senders, agent: createTargetAgent(deps.rule) },
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

    /** As it is kept now. */
    update(now: Endpoint, nowSenders: ReadonlyMap<number, Sender>): void {
      // Enabled again: what it did before does not count.
      if (now.enabled && !target.endpoint.enabled) {
        target.failures = 0
        target.pausedUntil = 0
      }
      target.endpoint = now
      target.senders = nowSenders
    },

    /** Its queue may hold something that is due. */
    lookAtQueue: retries.look,

    /** Ends within `limitMs`; what is under way is cut off, and told once more by whoever tells next. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort()
      await Promise.race([running, new Promise((resolve) => setTimeout(resolve, limitMs).unref())])
      await retries.stop(limitMs)
      await target.agent.destroy()
    },
  }
}
