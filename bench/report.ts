// What a run of the bench hands back: one line per figure, as a table for people and as JSON for programs.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import type { Spread } from './statistics.ts'

export interface Figure {
  /** The scenario it belongs to. */
  scenario: string
  /** What was measured, of whom. */
  what: string
  value: number
  unit: string
  spread?: Spread
  /** The goal as text, as `>= 0.8`, and whether it was reached. Only ratios and own figures have one. */
  goal?: string
  met?: boolean
}

/** A figure that is held against a goal. */
export function withGoal(figure: Figure, goal: `${'>=' | '<'} ${number}`): Figure {
  const [sign, limit] = goal.split(' ')
  const met = sign === '>=' ? figure.value >= Number(limit) : figure.value < Number(limit)
  return { ...figure, goal, met }
}

export function printTable(figures: readonly Figure[], say: (line: string) => void): void {
  const rows = [
    ['scenario', 'what', 'median', 'low', 'high', 'goal', ''],
    ...figures.map((figure) => [
      figure.scenario,
      figure.what,
      `${shown(figure.value, figure.unit)} ${figure.unit}`.trim(),
      figure.spread ? shown(figure.spread.low, figure.unit) : '',
      figure.spread ? shown(figure.spread.high, figure.unit) : '',
      figure.goal ?? '',
      figure.met === undefined ? '' : figure.met ? 'reached' : 'MISSED',
    ]),
  ]
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) say(`| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
}

/** A share, which has no unit, with three digits: 0.988 is not 0.99. */
function shown(value: number, unit: string): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(unit === '' ? 3 : 2)
}

/** The machine and the versions of everything that is measured. */
export function surroundings(): Record<string, string> {
  const versionOf = (name: string): string => {
    const text = readFileSync(new URL(`../../node_modules/${name}/package.json`, import.meta.url), 'utf8')
    return String(/"version": "([^"]+)"/.exec(text)?.[1])
  }
  const output = (command: string, ...args: string[]): string =>
    spawnSync(command, args, { encoding: 'utf8' }).stdout?.trim() ?? ''
  return {
    machine: `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    system: output('uname', '-sr'),
    node: process.version,
    redis: /v=(\S+)/.exec(output('redis-server', '--version'))?.[1] ?? 'not redis-server',
    ...Object.fromEntries(['bullmq', 'ioredis', 'express', 'undici'].map((name) => [name, versionOf(name)])),
    commit: output('git', 'rev-parse', '--short', 'HEAD'),
  }
}
