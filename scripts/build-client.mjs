// Compiles packages/client to its dist/, anew, so that nothing of an earlier build is packed. Run by `npm pack` there.
//
// The package stands alone, while its source uses the service's. A copy of the source is compiled in which src/types.ts has
// each of its types written out in full, and the files of src/ that are used at run time lie below service/.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { compiler, prepareDependencies, root } from './prepare.mjs'

/** Resolves each alias and interface within a type to its members. */
const IN_FULL = `
type InFull<T> = T extends Response | Uint8Array | FormData ? T
  : T extends (...input: infer Input) => Promise<infer Answer>
    ? [] extends Input
      ? (input?: InFull<NonNullable<Input[0]>>) => Promise<InFull<Answer>>
      : (input: InFull<Input[0]>) => Promise<InFull<Answer>>
  : T extends readonly (infer Item)[] ? InFull<Item>[]
  : T extends object ? (T extends infer O ? { [K in keyof O]: InFull<O[K]> } : never) : T
const as = <T>(): InFull<T> => JSON.parse('')
`

prepareDependencies()
const project = join(root, 'packages/client')
const copy = join(project, 'build')
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const folder of [copy, join(project, 'dist')]) rmSync(folder, { recursive: true, force: true })
cpSync(join(project, 'src'), join(copy, 'src'), { recursive: true })
writeFileSync(join(copy, 'src/types.ts'), typesInFull())
rmSync(join(copy, 'src/operation-types.ts'))
for (const name of readdirSync(join(copy, 'src'))) takeIn(join(copy, 'src', name))
writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['src'] }))
compile('-p', copy, '--rootDir', join(copy, 'src'), '--outDir', join(project, 'dist'))

/**
 * The types of src/types.ts, none of which needs any other file. The compiler writes the type of a constant out in full;
 * so each type becomes a constant for it, and a type again.
 */
function typesInFull() {
  const text = readFileSync(join(project, 'src/types.ts'), 'utf8')
    .replaceAll("'../../../src/", "'../../../../src/")
    .replaceAll("'./operation-types.ts'", "'../../src/operation-types.ts'")
  const [imports, ...statements] = text.split(/^(?=export type |\/\*\*)/m)
  const constants = statements.map((each) =>
    each.replace(
      /^export type (\w+) = (.*)$/s,
      (_whole, name, type) => `export const ${name} = as<${type.trim()}>()\n`,
    ),
  )
  mkdirSync(join(copy, 'types'))
  writeFileSync(join(copy, 'types/types.ts'), [imports, IN_FULL, ...constants].join(''))
  const options = { rootDir: '../../..', outDir: 'types/out', declaration: true, emitDeclarationOnly: true }
  const config = { extends: '../../../tsconfig.json', compilerOptions: options, include: [], files: ['types/types.ts'] }
  writeFileSync(join(copy, 'tsconfig.types.json'), JSON.stringify(config))
  compile('-p', join(copy, 'tsconfig.types.json'))
  const declared = readFileSync(join(copy, 'types/out/packages/client/build/types/types.d.ts'), 'utf8')
  // A route may be called import; a type of another file begins so.
  if (/^import\b|\bimport\(/m.test(declared))
    throw new Error('A type of packages/client/src/types.ts cannot be written out in full.')
  return declared.replaceAll(/^export declare const (\w+): /gm, 'export type $1 = ')
}

/** Copies what the file imports of the service into the package. */
function takeIn(path) {
  const text = readFileSync(path, 'utf8')
  const within = text.replaceAll(/'\.\.\/\.\.\/\.\.\/src\/([\w/-]+\.ts)'/g, (_whole, file) => {
    copyService(file)
    return `'./service/${file}'`
  })
  if (within !== text) writeFileSync(path, within)
}

/** Copies a file of the service, and all that it imports. */
function copyService(file) {
  const to = join(copy, 'src/service', file)
  if (existsSync(to)) return
  cpSync(join(root, 'src', file), to)
  for (const [, imported] of readFileSync(to, 'utf8').matchAll(/ from '(\.[\w./-]+\.ts)'/g)) {
    copyService(join(dirname(file), imported))
  }
}

function compile(...args) {
  const { status } = spawnSync(process.execPath, [compiler, ...args], {
    stdio: ['ignore', process.stderr, process.stderr],
  })
  if (status !== 0) process.exit(status ?? 1)
}
