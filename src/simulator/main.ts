// The simulator as a process of its own: `npm run simulator`, or a child of whoever wants one.
//
// It never outlives a parent that forked it with an IPC channel, however that parent died.

import { readSimulatorConfig, StartError } from './config.ts'
import { startSimulator } from './simulator.ts'

try {
  const simulator = await startSimulator(readSimulatorConfig(process.env))
  const stop = async () => {
    await simulator.close()
    process.exit(0)
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.stdout.write(`${JSON.stringify({ event: 'simulator.listening', url: simulator.url })}\n`)
  if (process.send !== undefined) {
    process.once('disconnect', stop)
    process.send({ listening: simulator.url })
    // a parent that died before the line above has taken the channel with it, and the event with that
    if (!process.connected) await stop()
  }
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
