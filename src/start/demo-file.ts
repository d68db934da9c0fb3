// <data dir>/demo.json: what a person or a program needs to try the service out. It is there exactly while the service
// is ready: put in place once /readyz says 200, removed when a stop begins, and at start in case it was killed.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DemoRecord } from './demo-record.ts'
import { writeJsonFile } from './json-file.ts'

/** Addresses of a running service. */
export interface Urls {
  base: string
  redis: string
  simulator: string
}

const pathOf = (dataDir: string): string => join(dataDir, 'demo.json')

/** Removes demo.json; does nothing when there is none. */
export function removeDemoFile(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true })
}

/** Writes it and returns its path. */
export function writeDemoFile(dataDir: string, urls: Urls, demo: DemoRecord): string {
  const { sender_ids: _lanes, ...main } = demo.main
  const { sender_ids: _otherLanes, ...other } = demo.other
  const path = pathOf(dataDir)
  const addresses = { base_url: urls.base, redis_url: urls.redis, simulator_url: urls.simulator }
  writeJsonFile(path, { ...addresses, ...main, other_account: other })
  return path
}
