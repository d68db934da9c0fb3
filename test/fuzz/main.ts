// `npm run fuzz`: throws generated requests at a whole service, prints what came back, and exits with 1 when something was
// found.
import { Command, InvalidArgumentError } from 'commander'
import { type FuzzReport, fuzz } from './run.ts'
import { openTarget } from './target.ts'

const program = new Command('npm run fuzz --')
  .description('Throws requests that are made from /openapi.json at a whole service: valid, changed and hostile.')
  .option('--requests <number>', 'how many', wholeNumber, 20_000)
  .option('--seed <number>', 'the same requests again; without it others each time', wholeNumber)
  .option('--json', 'prints JSON instead of the table')
  // 1 says that something was found.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()
const {
  requests,
  seed = Date.now() % 1_000_000,
  json = false,
} = program.opts<{
  requests: number
  seed?: number
  json?: true
}>()

// Whatever escapes a handler ends a producer.
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)

const begunAt = performance.now()
process.stderr.write(`seed ${seed}\n`)
const target = await openTarget({ apart: true })
const report = await fuzz(target, { requests, seed })
await target.close()
const seconds = (performance.now() - begunAt) / 1_000
process.stdout.write(json ? `${JSON.stringify(asJson(report), null, 2)}\n` : table(report))
process.exit(report.findings.length > 0 ? 1 : 0)

function asJson({ seen, ...rest }: FuzzReport): object {
  return { seed, ...rest, seen: Object.fromEntries([...seen].map(([id, counts]) => [id, Object.fromEntries(counts)])) }
}

function table({ sent, raw, longestMs, grownMb, unsent, seen, findings }: FuzzReport): string {
  const rows = [...seen].map(([id, counts]) => {
    const statuses = [...counts].sort(([one], [other]) => one - other).map(([status, count]) => `${status} ×${count}`)
    return `${id.padEnd(24)} ${statuses.join('  ')}`
  })
  const found = findings.map(({ fault, wire, answer }) => {
    const { method, path, headers, body = '' } = wire
    const shown = { ...headers, ...(headers.authorization && { authorization: '…' }) }
    return [`${method} ${path}`, JSON.stringify(shown), body.slice(0, 1_000), `→ ${fault}`, answer.slice(0, 500)].join(
      '\n',
    )
  })
  const closing =
    `seed ${seed}: ${sent} requests in ${seconds.toFixed(1)} s, ${raw} raw ones besides, ` +
    `longest turn ${longestMs.toFixed(0)} ms, memory ${grownMb.toFixed(0)} MB more than after a fifth, ` +
    `${unsent} that are no HTTP; ${findings.length} findings`
  return `${[...rows, '', ...found, closing].join('\n')}\n`
}

function fail(error: unknown): never {
  process.stderr.write(`seed ${seed}: ended by ${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(1)
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most nine digits.')
  return Number(text)
}
