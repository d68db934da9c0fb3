// The producer's application for a test: given routes, listening on a free loopback port.
import { once } from 'node:events'
import type { RequestHandler } from 'express'
import { pino } from 'pino'
import { createLog, type Log } from '../../src/kernel/log.ts'
import type { InstallationLimits } from '../../src/model/accounts/limits.ts'
import { buildApp } from '../../src/producer/app.ts'
import type { Route } from '../../src/producer/bind.ts'
import { createGate } from '../../src/producer/gate.ts'
import { createHttpServer } from '../../src/producer/http-server.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { listen } from '../testbed/free-port.ts'

/** No limit at all. */
export const UNLIMITED: InstallationLimits = {
  addressRate: 0,
  keyRate: 0,
  accountRate: 0,
  waiting: 0,
  drafts: 0,
  rowsBytes: 0,
  galleryBytes: 0,
  contacts: 0,
}

/** A log that writes nothing. */
export const silentLog: Log = createLog({ logLevel: 'silent' }, 'test')

/** A log that keeps its lines for a look at them. */
export function keptLog(): { log: Log; lines: string[] } {
  const lines: string[] = []
  return { lines, log: pino({ level: 'info' }, { write: (line) => lines.push(line) }) }
}

/** Starts an application with these routes, and pages for what no route takes. `close` cuts open connections and waits until none is left. */
export async function startApp(
  redis: Redis,
  routes: readonly Route[],
  log = silentLog,
  pages?: RequestHandler,
): Promise<{ url: string; close(): Promise<void> }> {
  const gate = createGate(redis, log, {
    trustedProxies: [],
    publicUrl: undefined,
    limits: UNLIMITED,
    dataDir: '',
    reserve: { diskBytes: 0, redisPercent: 0 },
  })
  const server = createHttpServer(buildApp({ gate, log, routes, ...(pages && { pages }) }), log)
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
