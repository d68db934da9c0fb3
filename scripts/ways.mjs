// The ways of the product, as lists of the files that are entered: made from a run of the whole service (ways/run.mjs).
// `node scripts/ways.mjs` prints, as JSON, of each part of a way its files in their order and what calls back.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUILD_STAMP, cacheFolder, prepareBuild, root } from './prepare.mjs'

/** What a run may take on a busy machine. */
const LIMIT_MS = 600_000

/** Of dist/ as it is: way → its parts, each with its name, its files in order, and the calls back. Kept until either changes. */
function readWays() {
  const parts = ['run.mjs', 'trace.mjs', 'hook.mjs'].map((name) => join(root, 'scripts/ways', name))
  const hash = createHash('sha256')
  for (const path of [join(root, 'dist', BUILD_STAMP), ...parts]) hash.update(readFileSync(path))
  const kept = join(cacheFolder, `ways-${hash.digest('hex').slice(0, 16)}.json`)
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'))
  const run = spawnSync(process.execPath, [join(root, 'scripts/ways/run.mjs')], { encoding: 'utf8', timeout: LIMIT_MS })
  if (run.status !== 0) throw new Error(`the run of scripts/ways failed: ${run.stderr}`)
  const ways = Object.entries(JSON.parse(run.stdout)).map(([way, pieces]) => [
    way,
    pieces.map(({ calls, ...piece }) => ({ ...piece, callsBack: callsBack({ files: piece.files, calls }) })),
  ])
  mkdirSync(cacheFolder, { recursive: true })
  writeFileSync(kept, JSON.stringify(Object.fromEntries(ways), null, 2))
  return Object.fromEntries(ways)
}

/** The calls into a file that had called the caller, itself or by way of others. */
function callsBack({ files, calls }) {
  const place = new Map(files.map((file, i) => [file, i]))
  const leads = (from, to, seen = new Set()) => {
    if (from === to) return true
    if (seen.has(from)) return false
    seen.add(from)
    return calls.some(([caller, callee]) => caller === from && leads(callee, to, seen))
  }
  return calls
    .filter(([caller, callee]) => place.get(callee) < place.get(caller) && leads(callee, caller))
    .map((call) => call.join(' -> '))
}

const TITLES = {
  accept: 'A message is accepted',
  send: 'It is sent',
  webhook: 'Its status comes',
  campaign: 'A campaign',
}

/** The ways as Markdown. What the page has stays if the run agrees with it. */
export function waysText(page) {
  return Object.entries(readWays())
    .map(([way, parts]) => {
      const before = partsIn(page, TITLES[way])
      const texts = parts.map((part) => {
        const files = before.get(part.name)
        return partText({ ...part, files: files && agrees(part, files) ? files : part.files }, parts.length)
      })
      return `### ${TITLES[way]}\n\n\`\`\`text\n${texts.join('\n\n')}\n\`\`\``
    })
    .join('\n\n')
}

/** A cache that has grown old is filled again from these: on a busy machine by every run, on a quiet one by none. */
const BEHIND_CACHES = /^(kernel|redis|accounts|telemetry)\//

/** Every file that all runs enter is listed, and every one that is listed is there. */
const agrees = ({ always }, files) =>
  always.every((file) => files.includes(file) || BEHIND_CACHES.test(file)) &&
  files.every((file) => existsSync(join(root, 'src', file)))

/** Name of a part → its files, as `partText` has written them under this title. */
function partsIn(page, title) {
  const block = page.split(`### ${title}\n\n\`\`\`text\n`)[1]?.split('\n```')[0] ?? ''
  return new Map(
    block.split('\n\n').map((text) => {
      const [first = '', ...others] = text.split('\n')
      const isNamed = first.endsWith(':')
      let room = ''
      const files = (isNamed ? others : [first, ...others]).flatMap((line) => {
        room = line.slice(0, ROOM).trim() || room
        return line
          .slice(ROOM)
          .split(', ')
          .map((file) => `${room}/${file}`)
      })
      return [isNamed ? first.slice(0, -1) : ALONE, files]
    }),
  )
}

/** The name of the only part of a way. */
const ALONE = 'all'

/** One line for each visit to a room of src. */
function partText({ name, files }, parts) {
  const visits = []
  for (const file of files) {
    const [room, ...path] = file.split('/')
    const last = visits.at(-1)
    if (last?.room === room) last.files.push(path.join('/'))
    else visits.push({ room, files: [path.join('/')] })
  }
  const lines = visits.flatMap(({ room, files: visited }) => wrapped(room.padEnd(ROOM), visited))
  return [...(parts > 1 ? [`${name}:`] : []), ...lines].join('\n')
}

const ROOM = 12
const WIDTH = 118

function wrapped(head, files) {
  const lines = [head]
  for (const file of files) {
    const line = lines.at(-1)
    const isFirst = line.length <= ROOM
    if (!isFirst && line.length + file.length + 2 > WIDTH) lines.push(`${' '.repeat(ROOM)}${file}`)
    else lines[lines.length - 1] = `${line}${isFirst ? '' : ', '}${file}`
  }
  return lines
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  prepareBuild()
  console.log(JSON.stringify(readWays(), null, 2))
}
