// Which lanes this worker is to serve: its place in the line for each of them (lanes/owners.ts), among the workers that
// are alive. Whoever serves a lane that needs more workers says so to all, again and again as long as it does.
import { type Line, lineOf, placeInLine, serversForLoad, serversForRate, serversOfEach } from '../../lanes/owners.ts'

/** For how long a lane is served by more workers after somebody last said that it needs them. */
export const WIDE_MS = 30_000
/** A lane that is for others now is still served for this long: by then they have opened it. */
const HANDED_OVER_MS = 6_000

/** Before the first `know` all lanes are this worker's. `now` is a clock in ms. */
export function createLaneAssignment(
  { self, maxInFlight }: { self: string; maxInFlight: number },
  now: () => number = () => performance.now(),
) {
  let line: Line = []
  /** How many workers serve a lane that nobody said anything about. */
  let each = Number.POSITIVE_INFINITY
  /** Places in the line, by lane, as far as they were asked for. */
  const places = new Map<number, number>()
  const wide = new Map<number, { servers: number; until: number }>()
  /** What the rate of a lane asks for; only lanes that are open here. */
  const rates = new Map<number, number>()
  /** Lanes that are served although they are for others now, and since when. */
  const strange = new Map<number, number>()

  function placeOf(lane: number): number {
    const known = places.get(lane)
    if (known !== undefined) return known
    const place = placeInLine(lane, self, line)
    places.set(lane, place)
    return place
  }

  function serversOf(lane: number): number {
    const more = wide.get(lane)
    if (more !== undefined && more.until <= now()) wide.delete(lane)
    return Math.max(each, wide.get(lane)?.servers ?? 0)
  }

  const isMine = (lane: number): boolean => each >= line.length || placeOf(lane) < serversOf(lane)

  return {
    isMine,

    /** Who is alive, and how many lanes there are. Without this worker among them nothing is learned from it. */
    know(workers: readonly string[], lanes: number): void {
      if (!workers.includes(self)) return
      line = lineOf(workers)
      each = serversOfEach(line.length, lanes)
      places.clear()
    },

    /** Somebody said that so many workers are to serve the lane. */
    widen(lane: number, servers: number): void {
      const known = wide.get(lane)
      if (known !== undefined && known.until > now() && known.servers > servers) return
      wide.set(lane, { servers, until: now() + WIDE_MS })
    },

    /** The rate of a lane that was opened. Returns how many workers it needs when that is more than serve it. */
    opened(lane: number, rate: number): number | undefined {
      const wanted = serversForRate(rate, maxInFlight)
      rates.set(lane, wanted)
      return wanted > each && each < line.length ? wanted : undefined
    },

    /** The lanes that are open here: which of them need more workers than serve a lane, and how many each of them. */
    inNeed(open: readonly { lane: number; inFlight: number }[]): { lane: number; servers: number }[] {
      if (each >= line.length) return []
      return open.flatMap(({ lane, inFlight }) => {
        // Helpers do not count themselves, or they would say for ever that they are needed.
        if (placeOf(lane) >= each) return []
        const serving = Math.min(serversOf(lane), line.length)
        const servers = Math.max(rates.get(lane) ?? 0, serversForLoad(inFlight, serving, maxInFlight))
        return servers > each ? [{ lane, servers }] : []
      })
    },

    /** Of the lanes that are open here, those to close, because others have had the time to open them. */
    handedOver(open: readonly number[]): number[] {
      const isOpen = new Set(open)
      for (const lane of rates.keys()) if (!isOpen.has(lane)) rates.delete(lane)
      for (const lane of strange.keys()) if (!isOpen.has(lane) || isMine(lane)) strange.delete(lane)
      for (const lane of open) if (!isMine(lane) && !strange.has(lane)) strange.set(lane, now())
      return [...strange].filter(([, since]) => now() - since >= HANDED_OVER_MS).map(([lane]) => lane)
    },
  }
}
