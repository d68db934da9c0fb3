// Which lanes this worker serves: those for which it is early enough in the order of live workers (lanes/owners.ts). A worker
// whose lane needs more workers repeats the request while it does.
import { type Line, lineOf, rankInLine, serversForLoad, serversForRate, serversOfEach } from '../../lanes/owners.ts'

/** A lane keeps its extra workers for this long after somebody last asked for them. */
export const EXTRA_SERVERS_MS = 30_000
/** A lane that is assigned to others now is still served for this long: by then they have opened it. */
const HANDED_OVER_MS = 6_000

/** Before the first `know` all lanes are assigned to this worker. `now` is a clock in ms. */
export function createLaneAssignment(
  { self, maxInFlight }: { self: string; maxInFlight: number },
  now: () => number = () => performance.now(),
) {
  let line: Line = []
  /** How many workers serve a lane that needs no extra ones. */
  let serversEach = Number.POSITIVE_INFINITY
  /** Ranks computed so far, by lane. */
  const ranks = new Map<number, number>()
  const extra = new Map<number, { servers: number; until: number }>()
  /** How many servers the rate of a lane calls for; only lanes that are open here. */
  const rates = new Map<number, number>()
  /** Lanes still served although they are assigned to others, and since when. */
  const unassigned = new Map<number, number>()

  function rankOf(lane: number): number {
    const known = ranks.get(lane)
    if (known !== undefined) return known
    const rank = rankInLine(lane, self, line)
    ranks.set(lane, rank)
    return rank
  }

  function serversOf(lane: number): number {
    const more = extra.get(lane)
    if (more !== undefined && more.until <= now()) extra.delete(lane)
    return Math.max(serversEach, extra.get(lane)?.servers ?? 0)
  }

  const isMine = (lane: number): boolean => serversEach >= line.length || rankOf(lane) < serversOf(lane)

  return {
    isMine,

    /** Takes the list of live workers and the number of lanes. A list without this worker is ignored. */
    know(workers: readonly string[], lanes: number): void {
      if (!workers.includes(self)) return
      line = lineOf(workers)
      serversEach = serversOfEach(line.length, lanes)
      ranks.clear()
    },

    /** Somebody asked that this many workers serve the lane. */
    addServers(lane: number, servers: number): void {
      const known = extra.get(lane)
      if (known !== undefined && known.until > now() && known.servers > servers) return
      extra.set(lane, { servers, until: now() + EXTRA_SERVERS_MS })
    },

    /** The rate of a lane that was opened. Returns how many workers it needs, if more than serve it. */
    opened(lane: number, rate: number): number | undefined {
      const wanted = serversForRate(rate, maxInFlight)
      rates.set(lane, wanted)
      return wanted > serversEach && serversEach < line.length ? wanted : undefined
    },

    /** Which of the lanes open here need more workers than usually serve one, and how many. */
    inNeed(open: readonly { lane: number; inFlight: number }[]): { lane: number; servers: number }[] {
      if (serversEach >= line.length) return []
      return open.flatMap(({ lane, inFlight }) => {
        // Extra workers do not count themselves, or they would be needed for ever.
        if (rankOf(lane) >= serversEach) return []
        const serving = Math.min(serversOf(lane), line.length)
        const servers = Math.max(rates.get(lane) ?? 0, serversForLoad(inFlight, serving, maxInFlight))
        return servers > serversEach ? [{ lane, servers }] : []
      })
    },

    /** Open lanes to close, because the workers they are assigned to have had time to open them. */
    handedOver(open: readonly number[]): number[] {
      const isOpen = new Set(open)
      for (const lane of rates.keys()) if (!isOpen.has(lane)) rates.delete(lane)
      for (const lane of unassigned.keys()) if (!isOpen.has(lane) || isMine(lane)) unassigned.delete(lane)
      for (const lane of open) if (!isMine(lane) && !unassigned.has(lane)) unassigned.set(lane, now())
      return [...unassigned].filter(([, since]) => now() - since >= HANDED_OVER_MS).map(([lane]) => lane)
    },
  }
}
