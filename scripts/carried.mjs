// Which packages a build carries: those of whose code something is in the bundles or the console's page, as the bundlers
// tell, and the dashboard's pages. Kept as dist/packages.json; `npm run packages` prints it, and a release makes its bill
// of materials of it. See docs/adr/0069-what-production-carries.md.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './prepare.mjs'
import { takeWords } from './words.mjs'

const FOLDER = 'node_modules/'

/** Where a build keeps its list. */
export const LIST = 'packages.json'
/** And the licences of what it carries. */
const LICENCES = 'LICENSES.txt'

/** The modules of which a chunk holds any code. */
export const modulesOf = (output) =>
  output.flatMap(({ modules = {} }) =>
    Object.entries(modules).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : [])),
  )

/**
 * Writes the packages that these modules (paths) belong to into the folder `dist`, by name, and their licences, which have to
 * go wherever the code goes.
 */
export function writeCarried(dist, modules) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const paths = new Set(modules.flatMap((id) => placeOf(relative(root, id)) ?? []))
  const packages = [...paths].map((path) => {
    const {
      name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length),
      version,
      license,
      integrity,
    } = lock[path] ?? {}
    if (version === undefined) throw new Error(`${path} is in the build, and not in package-lock.json`)
    return { name, version, license, integrity, text: licenceIn(join(root, path)) }
  })
  const byName = (one, other) => (`${one.name}@${one.version}` < `${other.name}@${other.version}` ? -1 : 1)
  packages.sort(byName)
  const listed = packages.map(({ text, ...listed }) => listed)
  writeFileSync(join(dist, LIST), `${JSON.stringify(listed, undefined, 1)}\n`)
  const licences = packages.map(({ name, version, license, text }) => `${name} ${version}, ${license}\n\n${text}`)
  writeFileSync(join(dist, LICENCES), licences.join(`\n${'-'.repeat(80)}\n\n`))
}

/** The licence that comes with a package; in its own words of its package.json where it brings no file. */
function licenceIn(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8')
  const { author, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `${license}, by ${typeof author === 'object' ? author.name : (author ?? 'its authors')}; it brings no file of its licence.\n`
}

/** What a built `dist` carries: [{ name, version, license, integrity }]. */
export const carriedBy = (dist) => JSON.parse(readFileSync(join(dist, LIST), 'utf8'))

/** The folder of the package that a file belongs to, as the lock names it; undefined for a file of ours. */
function placeOf(file) {
  const at = file.lastIndexOf(FOLDER)
  if (at === -1) return undefined
  const [first, second] = file.slice(at + FOLDER.length).split('/')
  return file.slice(0, at + FOLDER.length) + (first.startsWith('@') ? `${first}/${second}` : first)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  takeWords('npm run packages')
  const { prepareBuild } = await import('./prepare.mjs')
  prepareBuild()
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const carried = carriedBy(join(root, 'dist'))
  for (const { name, version, license } of carried) process.stdout.write(`${name} ${version} ${license}\n`)
  process.stdout.write(
    `${carried.length} packages have code in the build, ${Object.keys(dependencies).length} are installed beside it.\n`,
  )
}
