// The simulator as a process of its own: `npm run simulator`, or a child process of a test.
//
// It never outlives a parent that forked it with an IPC channel, however and whenever that parent died: the channel
// closes with it, also while we are still starting.

import { readSimulatorConfig, StartError } from './config.ts'
import { type Simulator, startSimulator } from './simulator.ts'

let running: Simulator | null = null

async function stop(): Promise<void> {
  await running?.close()
  process.exit(0)
}

process.once('SIGTERM', stop)
process.once('SIGINT', stop)
process.once('disconnect', stop)
// It died while our code was still being loaded, before anybody listened for it.
if (process.connected === false) process.exit(0)

try {
  running = await startSimulator(readSimulatorConfig())
  process.stdout.write(`${JSON.stringify({ event: 'simulator.listening', url: running.url })}\n`)
  // A parent may let go in just this moment: without a callback that would end this process with an error.
  if (process.connected) process.send?.({ listening: running.url }, () => {})
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
