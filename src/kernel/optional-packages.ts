// Packages that few installations need and that may be left out (`optionalDependencies` of package.json): what needs them loads them
// when it is asked for.
import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A package that is needed now is not installed. The message is one sentence for a person, with the command to install it. */
export class MissingPackageError extends Error {
  override name = 'MissingPackageError'
}

/**
 * What `load` resolves to. Rejects with a MissingPackageError where a package is not installed; `scope` is that of all packages that
 * `what` needs.
 */
export async function withPackages<T>(what: string, scope: `@${string}/`, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (!isMissing(error)) throw error
    const packages = packagesOf(scope).join(' ')
    throw new MissingPackageError(`${what} need packages that are not installed: npm install ${packages}.`, {
      cause: error,
    })
  }
}

const MISSING: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])
const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && MISSING.has(error.code)

/** Found from here as well as from the compiled file: src/ and dist/ both lie beside package.json. */
const path = new URL('../../package.json', import.meta.url)
const manifestSchema = z.object({ optionalDependencies: z.record(z.string(), z.string()) })

/** Those of the scope, each with its version, as npm takes them. */
function packagesOf(scope: string): string[] {
  const { optionalDependencies } = manifestSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  return Object.entries(optionalDependencies).flatMap(([name, version]) =>
    name.startsWith(scope) ? [`${name}@${version}`] : [],
  )
}
