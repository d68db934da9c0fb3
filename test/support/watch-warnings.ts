// Fails a file of tests in which Node warns of too many listeners: whoever runs the service would see that in its log, and it is most
// often something that grows.
import { afterAll } from 'vitest'

const warnings: Error[] = []
const note = (warning: Error): void => {
  if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning)
}
process.on('warning', note)

afterAll(() => {
  process.off('warning', note)
  const [first] = warnings
  if (first !== undefined) throw first
})
