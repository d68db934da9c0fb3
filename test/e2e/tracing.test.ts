// Pins: examples/tracing does what its README says: `npm start` with it, one message, and all of its spans on the output.
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { startLaneway, testInFolder } from '../support/laneway.ts'
import { startProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/tracing')
const attempt = z.object({ msg: z.literal('attempt.finished'), message: z.string(), trace_id: z.string() })

/** The spans of this name on the output, each as the text that the console exporter writes. */
const spansNamed = (output: string, name: string): string[] =>
  output.split(/^\{$/m).filter((text) => text.includes(`  name: '${name}',`))
const traceOf = (span: string | undefined): string => /^ {2}traceId: '(\w+)'/m.exec(span ?? '')?.[1] ?? ''

testInFolder('a message is followed from its request to the provider', async ({ dataDir }) => {
  const { process: laneway } = await startLaneway(dataDir, {
    NODE_OPTIONS: `--import ${join(EXAMPLE, 'otel.js')}`,
    LANEWAY_LOG_LEVEL: 'debug',
  })
  const sender = startProcess(process.execPath, [join(EXAMPLE, 'send.js')], { LANEWAY_DATA_DIR: dataDir })
  expect(await sender.ended, sender.stderr()).toMatchObject({ code: 0 })
  const [, traceId = '', message = ''] = /^trace (\w+) message (\S+)/.exec(sender.stdout()) ?? []
  // What has come of the output may end in the middle of a line.
  const output = () => laneway.stdout().slice(0, laneway.stdout().lastIndexOf('\n') + 1)
  const spanOf = (name: string) =>
    eventually(
      async () => spansNamed(output(), name).find((span) => span.includes(message) && /^\}$/m.test(span)),
      `the span ${name}`,
    )
  const [accept, send] = [await spanOf('accept'), await spanOf('send')]
  expect(traceOf(accept)).toBe(traceId)
  expect(traceOf(send)).not.toBe(traceId)
  expect(send.slice(send.indexOf('links:'))).toContain(traceId)
  // They come in no certain order.
  await expect.poll(() => spansNamed(output(), 'settle').map(traceOf)).toContain(traceOf(send))
  const logged = () =>
    output()
      .split('\n')
      .filter((line) => line.startsWith('{"level"'))
      .flatMap((line) => attempt.safeParse(JSON.parse(line)).data ?? [])
  await expect.poll(() => logged().find((line) => line.message === message)?.trace_id).toBe(traceOf(send))
  laneway.kill('SIGTERM')
  expect(await laneway.ended).toMatchObject({ code: 0 })
})
