// The package as its users get it: packed by npm, installed by npm into a copy of an example.
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
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
})

/**
 * Packs the package and installs it into a copy of examples/<name>, in a folder that is laid out like the repository, so
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
  await run('npm', ['pack', '--silent', '--pack-destination', root])
  const lock = lockSchema.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  const needed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev && existsSync(path))
  // Without its links in .bin, npm takes a package for broken and wants to install it again.
  for (const path of [...needed.map(([path]) => path), 'node_modules/.bin']) {
    cpSync(path, join(dir, path), { recursive: true, verbatimSymlinks: true })
  }
  const emptyCache = join(root, 'npm-cache')
  await run('npm', ['install', '--prefix', dir, '--offline', '--no-audit', '--no-fund', '--cache', emptyCache])
}
