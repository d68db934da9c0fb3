// When requests leave the workers, noted inside them (preload/departures.ts), and how many of them fall together.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from './scenario.ts'

/** What a process is started with for one of test/prove/preload/ to be loaded into it. */
export const preloading = (...names: ('departures' | 'clock-skew' | 'turns')[]): string =>
  names.map((name) => `--import ${fileURLToPath(new URL(`./preload/${name}.js`, import.meta.url))}`).join(' ')

/** The setting under which the clock of a worker is off, by what `setClock` says. */
export const clockOf = (folder: string, worker: number): Record<string, string> => ({
  PROVE_CLOCK: join(folder, `clock-${worker}`),
})

/** Sets the clock of the worker of that number off by so many ms, also while it runs. */
export const setClock = (folder: string, worker: number, skewMs: number): void =>
  writeFileSync(clockOf(folder, worker).PROVE_CLOCK ?? '', String(skewMs))

/** The setting under which workers note what leaves them. */
export const noted = (folder: string): Record<string, string> => ({
  NODE_OPTIONS: preloading('departures'),
  PROVE_DEPARTURES: departuresFile(folder),
})

const departuresFile = (folder: string): string => join(folder, 'departures.txt')

/** Epoch ms of each message of a Cloud API sender that left, in order. */
export const departuresOf = (folder: string, phoneNumberId: string): number[] =>
  linesOf(folder)
    .flatMap(([at = '', path = '']) => (path.endsWith(`/${phoneNumberId}/messages`) ? [Number(at)] : []))
    .sort((a, b) => a - b)

interface Span {
  fromMs: number
  toMs: number
}

/**
 * The spans in which the machine let all workers run, within two times: what a lane sends in them is its own doing. What
 * follows shortly on one in which a worker was held is left out: claims have to get ahead again.
 */
export function freeSpans(folder: string, within: Span): Span[] {
  const held = linesOf(folder)
    .flatMap(([at, word, ms]) => (word === 'held' ? [{ fromMs: Number(at) - Number(ms), toMs: Number(at) }] : []))
    .sort((a, b) => a.fromMs - b.fromMs)
  const free: Span[] = []
  let { fromMs } = within
  for (const each of [...held, { fromMs: within.toMs, toMs: within.toMs }]) {
    const toMs = Math.min(each.fromMs, within.toMs)
    if (toMs > fromMs) free.push({ fromMs, toMs })
    fromMs = Math.max(fromMs, each.toMs + AGAIN_AHEAD_MS)
  }
  return free
}

function linesOf(folder: string): string[][] {
  const file = departuresFile(folder)
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
}

/** How long a lane needs after a hold-up until its claims are ahead of their slots again. */
const AGAIN_AHEAD_MS = 100

/** The most that fall into any span of so many ms. `times` in order, ms. */
export function busiest(times: readonly number[], spanMs: number): number {
  let most = 0
  let from = 0
  for (const [at, time] of times.entries()) {
    while ((times[from] ?? time) <= time - spanMs) from += 1
    most = Math.max(most, at - from + 1)
  }
  return most
}

/** What a lane may hold of its rate in any second, and how many more may arrive together than leave together. */
export const STEADY = 1.05
export const AFTER_STALL = 1.1
const JITTER = 0.05
/** Lanes of 5 to 19 messages a second: one request more than the rate may leave in a second (docs/adr/0027). */
const mayHaveOneMore = (rate: number): boolean => rate >= 5 && rate < 20

/** The figures of a lane: leaving and arriving, in any second and in any ten. */
export function paceFigures(
  lane: { rate: number; left: readonly number[]; arrived: readonly number[] },
  most: { inASecond: number; why?: string },
): Figure[] {
  const { rate, left, arrived } = lane
  const per = `of the lane of ${rate}/s${most.why ?? ''}`
  const inASecond = Math.max(Math.floor(rate * most.inASecond), mayHaveOneMore(rate) ? rate + 1 : 0)
  return [
    // A lane that was not busy for ten seconds is measured by those that it was.
    { what: `most leaving in any 10 s ${per}`, value: busiest(left, 10_000), unit: 'messages', atMost: 10 * rate },
    { what: `most leaving in any second ${per}`, value: busiest(left, 1_000), unit: 'messages', atMost: inASecond },
    {
      what: `most arriving in any second ${per}`,
      value: busiest(arrived, 1_000),
      unit: 'messages',
      atMost: inASecond + Math.max(1, Math.floor(rate * JITTER)),
    },
  ]
}
