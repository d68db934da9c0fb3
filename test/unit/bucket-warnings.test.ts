// Pins: a bucket adds no line of its library to what our processes print. Real: the library.
import { expect, test, vi } from 'vitest'
import { openBucket } from '../../src/files/bucket.ts'
import { loadConfig } from '../../src/kernel/config.ts'

test('opening a bucket prints no warning once the settings are read, whatever Node the library prefers', () => {
  const version = vi.spyOn(process, 'version', 'get').mockReturnValue('v20.19.0')
  const warned = vi.spyOn(process, 'emitWarning')
  loadConfig({})
  const at = { bucket: 'files', prefix: '', endpoint: 'http://127.0.0.1:1', region: 'us-east-1', pathStyle: true }
  openBucket(at, '/nowhere', { gives: false }).close()
  expect(warned).not.toHaveBeenCalled()
  version.mockRestore()
})
