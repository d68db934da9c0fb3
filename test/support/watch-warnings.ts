// Fails a file of tests in which Node warns of too many listeners: whoever runs the service would see that in its log, and it is most
// often something that grows.
import { afterAll } from 'vitest'

/**
 * ioredis disconnects the last subscriber of a cluster again with each new one it tries, which adds a listener to a socket
 * that is closing. They end with that socket.
 */
const isOfClosingSocket = (warning: Error): boolean => /ClusterSubscriber\.selectSubscriber/.test(warning.stack ?? '')

const warnings: Error[] = []
const note = (warning: Error): void => {
  if (warning.name === 'MaxListenersExceededWarning' && !isOfClosingSocket(warning)) warnings.push(warning)
}
process.on('warning', note)

afterAll(() => {
  process.off('warning', note)
  const [first] = warnings
  if (first !== undefined) throw first
})
