// Which worker sweeps: one at a time, because ten that look for the same thing find no more than one. Two that sweep at
// once, as after one was frozen, do no harm: every decision is a fenced step.

import type { Redis } from '../redis/connect.ts'
import { rootKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

/** Another worker takes over when the one that sweeps says nothing for this long. */
export const SWEEPER_HOLDS_MS = 3_000

const electScript = defineScript(import.meta.url, 'sweeper-elect')
const resignScript = defineScript(import.meta.url, 'sweeper-resign')

/** Whether this worker sweeps now. Asked every second it keeps doing so. `office` is what it is elected for. */
export async function isSweeper(redis: Redis, worker: string, office = rootKeys.sweeper): Promise<boolean> {
  return (await electScript(redis, { sweeper: office }, { worker, holdMs: SWEEPER_HOLDS_MS })) === 1
}

/** Lets another worker sweep at once. */
export async function resignAsSweeper(redis: Redis, worker: string, office = rootKeys.sweeper): Promise<void> {
  await resignScript(redis, { sweeper: office }, { worker })
}
