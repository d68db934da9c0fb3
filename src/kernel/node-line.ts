// Which lines of Node get security fixes until when, and which release of each has the latest of them. Renewed by hand with
// each security release of Node; as of 2026-11-27.

/** Major version → its end of life, and the first release with all known security fixes. */
const LINES: Readonly<Record<number, { ends: string; fixed?: string }>> = {
  20: { ends: '2026-04-30' },
  22: { ends: '2027-04-30', fixed: '22.23.4' },
  24: { ends: '2028-04-30', fixed: '24.22.1' },
  26: { ends: '2029-04-30', fixed: '26.12.1' },
}
const NEWEST = Math.max(...Object.keys(LINES).map(Number))

/**
 * One sentence about a Node that gets no security fixes any more, or lacks some; undefined for a current one, and for one newer
 * than the table. `today` as `2026-04-30`. Odd major versions live for months only, so an older one has ended.
 */
export function nodeProblem(version: string, today: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const line = LINES[major]
  if (line === undefined) return major < NEWEST ? `Node ${version} is past its end of life: ${ADVICE}` : undefined
  if (today > line.ends) return `Node ${version} is past its end of life since ${line.ends}: ${ADVICE}`
  if (line.fixed === undefined) return undefined
  const [, fixedMinor = 0, fixedPatch = 0] = line.fixed.split('.').map(Number)
  if (minor > fixedMinor || (minor === fixedMinor && patch >= fixedPatch)) return undefined
  return `Node ${version} lacks security fixes that Node ${line.fixed} has.`
}

const ADVICE = `it gets no security fixes. Run Node ${Object.values(LINES)
  .flatMap(({ fixed }) => fixed ?? [])
  .join(', ')} or newer.`

/** The same of the Node that runs this process, today. */
export const ownNodeProblem = (): string | undefined =>
  nodeProblem(process.versions.node, new Date().toISOString().slice(0, 10))
