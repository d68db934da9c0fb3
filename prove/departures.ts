// When requests leave the workers, noted inside them (preload/departures.ts), and how many of them fall together.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from './scenario.ts'

/** What a process is started with for one of prove/preload/ to be loaded into it. */
export const preloading = (...names: ('departures' | 'clock-skew' | 'turns')[]): string =>
  names.map((name) => `--import ${fileURLToPath(new URL(`./preload/${name}.js`, import.meta.url))}`).join(' ')

/** The setting under which workers note what leaves them. */
export const noted = (folder: string): Record<string, string> => ({
  NODE_OPTIONS: preloading('departures'),
  PROVE_DEPARTURES: departuresFile(folder),
})

const departuresFile = (folder: string): string => join(folder, 'departures.txt')

/** Epoch ms of each message of a Cloud API sender that left, in order. */
export function departuresOf(folder: string, phoneNumberId: string): number[] {
  const file = departuresFile(folder)
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [at = '', path = ''] = line.split(' ')
      return path.endsWith(`/${phoneNumberId}/messages`) ? [Number(at)] : []
    })
    .sort((a, b) => a - b)
}

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
export const JITTER = 0.05

/** The figures of a lane: leaving and arriving, in any second and in any ten. */
export function paceFigures(
  lane: { rate: number; left: readonly number[]; arrived: readonly number[] },
  most: { inASecond: number; why?: string },
): Figure[] {
  const { rate, left, arrived } = lane
  const per = `of the lane of ${rate}/s${most.why ?? ''}`
  const inASecond = Math.floor(rate * most.inASecond)
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
