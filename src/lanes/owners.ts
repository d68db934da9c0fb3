// Assigns lanes to workers by rendezvous hashing, because not every worker can open each lane: 10,000 lanes and 50 workers
// would be 500,000 connections. Every worker knows which others are alive and computes its own rank for a lane, so no
// coordinator is needed. A worker that starts or dies moves only the lanes that it will serve or has served. Pure.

/** One may die and the lane goes on. */
const MIN_WORKERS = 2
/**
 * Up to so many lanes in all, every worker serves every lane. Beyond that the connections cost more than they are worth.
 */
const LANES_SERVED_BY_ALL = 200
/** A request takes less than this (seconds), as a rule: what a lane has in flight is its rate times this. */
const REQUEST_SECONDS = 1
/** The share of a worker's in-flight limit that a lane can rely on. */
const USABLE_SHARE = 0.8

/** The workers with their seeds. Workers that know the same workers compute the same ranks. */
export type Line = readonly { worker: string; seed: number }[]

/** The input of `rankInLine`, made once for the live workers. */
export const lineOf = (workers: readonly string[]): Line =>
  [...new Set(workers)].map((worker) => ({ worker, seed: seedOf(worker) }))

/** How many workers rank before `self` for a lane; all of them when it is not among them. */
export function rankInLine(lane: number, self: string, line: Line): number {
  const own = line.find(({ worker }) => worker === self)
  if (own === undefined) return line.length
  const mine = weightOf(own.seed, lane)
  let before = 0
  for (const { worker, seed } of line) {
    const weight = weightOf(seed, lane)
    if (weight > mine || (weight === mine && worker < self)) before += 1
  }
  return before
}

/** How many workers serve each lane by default: at least two, all while there are few lanes. */
export const serversOfEach = (workers: number, lanes: number): number =>
  Math.max(MIN_WORKERS, Math.floor((workers * LANES_SERVED_BY_ALL) / Math.max(1, lanes)))

/** How many workers a lane of `rate` a second needs, each with `maxInFlight` requests in flight at most. */
export const serversForRate = (rate: number, maxInFlight: number): number =>
  Math.ceil((rate * REQUEST_SECONDS) / (maxInFlight * USABLE_SHARE))

/** The same from what one of `servers` has in flight: they share the load evenly, so the others have as much. */
export const serversForLoad = (inFlight: number, servers: number, maxInFlight: number): number =>
  Math.ceil((inFlight * servers) / (maxInFlight * USABLE_SHARE))

/** FNV-1a. */
function seedOf(text: string): number {
  let hash = 0x81_1c_9d_c5
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01_00_01_93)
  return hash >>> 0
}

/** Every bit of the seed and the lane changes half of the bits: the end of MurmurHash3. */
function weightOf(seed: number, lane: number): number {
  let hash = seed ^ Math.imul(lane, 0x9e_37_79_b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35)
  return (hash ^ (hash >>> 16)) >>> 0
}
