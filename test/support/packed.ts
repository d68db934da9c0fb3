// The client as its users get it: packed by npm, installed by npm into a copy of an example.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { startProcess } from './processes.ts'

/** Runs a command to its end and returns what it printed; throws with its words when it fails. */
export async function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = startProcess(command, args, env)
  const { code } = await child.ended
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${child.stdout()}${child.stderr()}`)
  return child.stdout()
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      dependencies: z.record(z.string(), z.string()).optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

/** Folders of what the client needs, by package-lock.json, that are installed here: those for other systems are not. */
function neededByClient(): string[] {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  const needed = new Set<string>()
  const add = (path: string): void => {
    const { dependencies, optionalDependencies } = packages[path] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const own = `${path}/node_modules/${name}`
      const found = packages[own] ? own : `node_modules/${name}`
      if (needed.has(found) || !existsSync(found)) continue
      needed.add(found)
      add(found)
    }
  }
  add('packages/client')
  return [...needed]
}

/** Packs the client into a folder; resolves to the tarball's path. */
export async function packClient(folder: string): Promise<string> {
  const name = await run('npm', ['pack', '--silent', '--workspace', 'laneway-client', '--pack-destination', folder])
  return join(folder, name.trim().split('\n').at(-1) ?? '')
}

/**
 * Packs the client and installs it into a copy of examples/<name>, in a folder that is laid out like the repository, so
 * that the example's own package.json is used as it is. Neither network nor npm's cache: npm finds the dependencies
 * installed already, because those of this repository, which are the same, are put there before.
 */
export async function installExample(name: string): Promise<{ dir: string; remove(): void }> {
  const root = mkdtempSync(join(tmpdir(), 'laneway-example-'))
  const remove = () => rmSync(root, { recursive: true, force: true })
  try {
    const dir = join(root, 'examples', name)
    await install(root, dir, join('examples', name))
    return { dir, remove }
  } catch (error) {
    remove()
    throw error
  }
}

async function install(root: string, dir: string, example: string): Promise<void> {
  cpSync(example, dir, { recursive: true, filter: (path) => !path.includes('node_modules') })
  await packClient(root)
  // Without its links in .bin, npm takes a package for broken and wants to install it again.
  for (const path of [...neededByClient(), 'node_modules/.bin']) {
    cpSync(path, join(dir, path), { recursive: true, verbatimSymlinks: true })
  }
  const emptyCache = join(root, 'npm-cache')
  await run('npm', ['install', '--prefix', dir, '--offline', '--no-audit', '--no-fund', '--cache', emptyCache])
}
