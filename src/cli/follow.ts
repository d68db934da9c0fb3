// Follows what a worker does in the background, by the route that shows it, until it is over.

import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { health } from '../producer/api/health/routes.ts'
import type { FamilyId } from '../producer/api/table.ts'
import { ApiError } from '../producer/errors.ts'
import type { RouteSpec } from '../producer/route.ts'
import type { Asked, Came, Door } from './doors.ts'
import { CliFailure } from './failure.ts'
import type { Address } from './typed-request.ts'

const ASK_EVERY_MS = 200

/** How an answer is followed. */
export interface Followed {
  /** The route that shows how far it is. */
  by: RouteSpec
  /** Its family, where that is another one. */
  family?: FamilyId
  /** What its path names, by the answer that began it, where that is not what is typed. */
  params?(first: unknown): Record<string, string>
  /** `first`: the answer that began it. */
  isOver(data: unknown, first: unknown): boolean
  /** It waits for a worker by itself, so that it is begun without one. */
  isQueued?: true
  /** The part of what is shown that is about this, where it is more. */
  pick?(data: unknown, first: unknown): unknown
  /** Shows how far it is. */
  watch?(stderr: Writable): { show(data: unknown): void; stop(): void }
}

const dataIn = (came: Came): unknown => ('json' in came ? Reflect.get(Object(came.json), 'data') : undefined)

/** Asks a route and follows what it begins. The answer once it is over; a CliFailure when no worker is there to do it. */
export async function followed(
  { by, isOver, isQueued, pick = (now) => now, watch, params, ...other }: Followed,
  ask: () => Promise<Came>,
  { family, spec }: Address,
  asked: Asked,
  { door, stderr }: { door: Door; stderr: Writable },
): Promise<Came> {
  // Before anything is begun. Who only looks needs none.
  if (by !== spec && !isQueued) await requireWorker(door, '')
  const first = await ask()
  const begun = dataIn(first)
  if (isOver(begun, begun)) return first
  const to = { family: other.family ?? family, spec: by }
  const named = params?.(begun) ?? asked.params
  const screen = watch?.(stderr)
  screen?.show(begun)
  // Of what waits by itself nobody has looked yet.
  let workerAt = isQueued ? Number.NEGATIVE_INFINITY : performance.now()
  try {
    for (
      let now = first;
      ;
      now = picked(await again(door, to, { ...NOTHING, params: named, account: asked.account }))
    ) {
      if (isOver(dataIn(now), begun)) return { ...now, warnings: [...first.warnings, ...now.warnings] }
      if (by !== spec && performance.now() - workerAt > WORKER_EVERY_MS) {
        await requireWorker(door, Object.values(named).join(' '))
        workerAt = performance.now()
      }
      await sleep(ASK_EVERY_MS)
    }
  } finally {
    screen?.stop()
  }

  function picked(now: Came): Came {
    screen?.show(dataIn(now))
    return 'json' in now ? { ...now, json: { ...Object(now.json), data: pick(dataIn(now), begun) } } : now
  }
}

/** How often it is asked whether a worker is alive. */
const WORKER_EVERY_MS = 10_000

/** A CliFailure while no worker is alive; `what` goes on then with the next one. */
async function requireWorker(door: Door, what: string): Promise<void> {
  await door({ family: 'health', spec: health.ready }, { ...NOTHING, account: undefined }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.code === 'no_worker')) throw error
    const later = what === '' ? ', and only workers do this.' : `. ${what} is queued and starts with the next one.`
    throw new CliFailure(`No worker is running${later}`)
  })
}

/** Asks again while the service is busy, restarts, or cannot be reached for a moment. */
async function again(door: Door, to: Address, asked: Asked): Promise<Came> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await door(to, asked)
    } catch (error) {
      const isPassing =
        error instanceof ApiError
          ? [429, 503].includes(error.status)
          : error instanceof CliFailure && error.exitCode === 3
      if (!isPassing || tries === MOST_TRIES) throw error
      await sleep(tries * 1_000)
    }
  }
}
const MOST_TRIES = 5

const NOTHING = { params: {}, query: {}, headers: {}, body: {} }
