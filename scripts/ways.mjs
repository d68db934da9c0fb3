// The ways of the product, as lists of the files that are entered: made from a run of the whole service (ways/run.mjs).
// `node scripts/ways.mjs` prints, as JSON, of each part of a way its files in their order and what calls back. `--page <path>`
// prints instead what is wrong with the lists of a page, and exits with 1 if anything is.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUILD_STAMP, cacheFolder, prepareBuild, root, typed } from './prepare.mjs'

/** What a run may take on a busy machine. */
const LIMIT_MS = 600_000

/** Of dist/ as it is: way → its parts, each with its name, its files in order, and the calls back. Kept until either changes. */
function readWays() {
  const parts = readdirSync(join(root, 'scripts/ways'))
    .sort()
    .map((name) => join(root, 'scripts/ways', name))
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
        return partText(
          { ...part, files: files && faultsOf(part, files).length === 0 ? files : part.files },
          parts.length,
        )
      })
      return `### ${TITLES[way]}\n\n\`\`\`text\n${texts.join('\n\n')}\n\`\`\``
    })
    .join('\n\n')
}

/** What is wrong with the lists of the page, a sentence each. */
export function waysFaults(page) {
  return Object.entries(readWays()).flatMap(([way, parts]) => {
    const before = partsIn(page, TITLES[way])
    return parts.flatMap((part) => {
      const title = part.name === ALONE ? TITLES[way] : `${TITLES[way]}, ${part.name}`
      return faultsOf(part, before.get(part.name) ?? []).map((fault) => `${title}: ${fault}`)
    })
  })
}

/** Files that all pieces of work enter are listed, those that none enters are not, and where all have one order, so has the list. */
function faultsOf({ seen }, files) {
  const always = seen[0].filter((file) => seen.every((entered) => entered.includes(file)))
  const isAfter = (first, second) =>
    seen.every((entered) => entered.includes(second) && entered.indexOf(first) > entered.indexOf(second))
  return [
    ...always.filter((file) => !files.includes(file)).map((file) => `${file} is entered and not listed`),
    ...files
      .filter((file) => !seen.some((entered) => entered.includes(file)))
      .map((file) => `${file} is listed and not entered`),
    ...files.filter((file, i) => files.indexOf(file) < i).map((file) => `${file} is listed twice`),
    ...files
      .slice(1)
      .flatMap((file, i) =>
        isAfter(files[i], file) ? [`${files[i]} is listed before ${file} and entered after it`] : [],
      ),
  ]
}

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
  const { page } = typed({ page: { type: 'string' } })
  prepareBuild()
  if (page === undefined) {
    console.log(JSON.stringify(readWays(), null, 2))
  } else {
    const faults = waysFaults(readFileSync(page, 'utf8'))
    for (const fault of faults) console.log(fault)
    process.exitCode = faults.length === 0 ? 0 : 1
  }
}
