// Lanes of the partner wire whose upstream takes a second for each status poll: three workers
// together keep to the budget of a lane. What polls there are is read off the line between workers and upstream.

import { pollKey } from '../../../src/redis/keys.ts'
import { busiest } from '../departures.ts'
import type { ProviderLine } from '../provider-line.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { type Figure, onRig, type Scenario } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'

const UPSTREAM_MS = 1_000
const PATH = '/chatappbusiness/getmessgageinfobyid'
/** Of each lane: the pace is the narrower bound of the slower one, the places that of the faster one. */
const RATES = [50, 200]

export const pollBudget: Scenario = {
  name: 'poll-budget',
  promise:
    'However slow the upstream and however many workers, a lane is polled at most 20 at once and a quarter of its rate.',
  alone: true,
  run: (run) => {
    const tenants = RATES.map((rate) => ({ wire: 'partner-api', policy: 'at_least_once', rate }) as const)
    // Nothing is ever delivered: everything is polled as often as it can be.
    const simulator = { SIMULATOR_SENT_MS: '0', SIMULATOR_DELIVERED_MS: '86400000', SIMULATOR_READ_MS: '86400000' }
    return onRig(run, { workers: 3, tenants, simulator }, async (rig) => {
      const figures: Figure[] = []
      await rig.chatProduct.control({ lookup_delay_ms: UPSTREAM_MS })
      // One lane after the other: the line does not say whose poll a reply belongs to.
      for (const [n, tenant] of rig.tenants.entries()) {
        const polls = watch(rig.providerLine)
        const sendsForMs = run.full ? 60_000 : 6_000
        const begunAt = performance.now()
        await rig.client.post(tenant, recipientsOf(n, (tenant.rate * sendsForMs) / 1_000), tenant.rate)
        await eventually(() => performance.now() - begunAt > sendsForMs * 2, sendsForMs * 3)
        const seconds = (performance.now() - begunAt) / 1_000
        run.say(`${polls.times.length} polls in ${seconds.toFixed(0)} s on the lane of ${tenant.rate}/s`)
        const per = `of the lane of ${tenant.rate}/s`
        figures.push(
          { what: `most polls at once ${per}`, value: polls.mostAtOnce(), unit: 'polls', atMost: 20 },
          {
            what: `most polls in any second ${per}`,
            value: busiest(polls.times, 1_000),
            unit: 'polls',
            // A small run shares the machine, which is late with some and then quick with the next.
            atMost: Math.ceil((tenant.rate / 4) * (run.full ? 1 : 1.2)),
          },
          {
            what: `mean of polls ${per} over ${seconds.toFixed(0)} s`,
            value: polls.times.length / seconds,
            unit: 'polls/s',
            atMost: tenant.rate / 4,
            // It uses what it has.
            atLeast: Math.min(tenant.rate / 4, 20 / (UPSTREAM_MS / 1_000)) * (run.full ? 0.6 : 0.2),
          },
          {
            what: `most polls of one message ${per} in its first ${seconds.toFixed(0)} s`,
            value: Math.max(0, ...polls.perMessage.values()),
            unit: 'polls',
            // Ages double from one second on.
            atMost: Math.floor(Math.log2(seconds)) + 1,
          },
        )
        // What is left of this lane is taken off, so that the next one is seen alone.
        await rig.store.del(pollKey(tenant.lane))
        await pause(2 * UPSTREAM_MS)
      }
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      return { judgement, figures }
    })
  },
}

function watch(line: ProviderLine) {
  const times: number[] = []
  const perMessage = new Map<string, number>()
  /** Connections on which a poll waits for its answer; a worker gives one up by closing it. */
  const asking = new Set<object>()
  let most = 0
  line.observe({
    request(piece, link) {
      if (!piece.startsWith(`POST ${PATH}`)) return
      times.push(performance.now())
      asking.add(link)
      most = Math.max(most, asking.size)
      const id = /"message_id":"([^"]+)"/.exec(piece)?.[1] ?? ''
      perMessage.set(id, (perMessage.get(id) ?? 0) + 1)
    },
    reply: (_piece, link) => void asking.delete(link),
    closed: (link) => void asking.delete(link),
  })
  return { times, perMessage, mostAtOnce: () => most }
}
