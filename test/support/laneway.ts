// `npm start` for a test: the real thing on a free port and a data folder of its own, and its demo.json.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import { z } from 'zod'
import { killAllNaming, startProcess, type TestProcess } from './processes.ts'
import { eventually } from './wait.ts'

const ids = z.array(z.number().int().positive())
const accountSchema = z.strictObject({
  account_id: z.number().int().positive(),
  api_key: z.string(),
  access_token: z.string(),
  auth_token: z.string(),
  sender: z.string(),
  folder_ids: ids,
  file_ids: ids,
  tag_ids: ids,
})

/** demo.json as it is promised; a key that is missing, of another type or unknown fails the test that reads it. */
const demoSchema = accountSchema.extend({
  base_url: z.url(),
  redis_url: z.url(),
  simulator_url: z.url(),
  admin_key: z.string(),
  operator_key: z.string(),
  expired_api_key: z.string(),
  expired_access_token: z.string(),
  expired_auth_token: z.string(),
  system_folder_id: z.number().int().positive(),
  trashed_file_id: z.number().int().positive(),
  trashed_file_folder_id: z.number().int().positive(),
  templates: z.array(z.string()),
  inbound_message_id: z.string(),
  other_account: accountSchema,
})
export type Demo = z.infer<typeof demoSchema>

/** Where demo.json of a data folder is. */
export const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

/** An empty data folder. `remove` ends whatever still uses it: a failed test must leave nothing behind. */
export function newDataDir(): { dataDir: string; remove(): Promise<void> } {
  const dataDir = mkdtempSync(join(tmpdir(), 'laneway-start-'))
  return {
    dataDir,
    async remove() {
      await killAllNaming(dataDir)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * A test with a data folder of its own. Such tests mostly wait for processes, so those of a file run side by side, as
 * many as vitest.config.ts lets.
 */
export function testInFolder(title: string, act: (folder: { dataDir: string }) => Promise<void>): void {
  test.concurrent(title, async () => {
    const folder = newDataDir()
    try {
      await act(folder)
    } finally {
      await folder.remove()
    }
  })
}

/**
 * Starts it without waiting: what `npm start` runs once everything is built. The status delays are shortened: delivered is
 * delivered.
 */
export function launchLaneway(
  dataDir: string,
  env: Record<string, string> = {},
  [command, ...args]: readonly [string, ...string[]] = [process.execPath, 'dist/demo/start.js'],
): TestProcess {
  return startProcess(command, args, {
    LANEWAY_DATA_DIR: dataDir,
    PORT: '0',
    SIMULATOR_SENT_MS: '0',
    SIMULATOR_DELIVERED_MS: '50',
    SIMULATOR_READ_MS: '86400000',
    ...env,
  })
}

/** Waits for demo.json; fails with the process's own words when it ends before. */
export async function readyDemo(dataDir: string, started: TestProcess): Promise<Demo> {
  let over = false
  void started.ended.then(() => {
    over = true
  })
  await eventually(async () => over || existsSync(demoFile(dataDir)), 'demo.json', 150_000)
  if (over) throw new Error(`it ended before it was ready:\n${started.stdout()}\n${started.stderr()}`)
  return demoSchema.parse(JSON.parse(readFileSync(demoFile(dataDir), 'utf8')))
}

/** Starts it and waits until it is ready. */
export async function startLaneway(
  dataDir: string,
  env: Record<string, string> = {},
  command?: readonly [string, ...string[]],
): Promise<{ process: TestProcess; demo: Demo }> {
  // After a kill -9 the old one is still there until the new process is so far.
  rmSync(demoFile(dataDir), { force: true })
  const started = launchLaneway(dataDir, env, command)
  return { process: started, demo: await readyDemo(dataDir, started) }
}
