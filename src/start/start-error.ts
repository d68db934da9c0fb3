// What keeps a process from starting and can be put right by the person who started it.

/** The message is one sentence for the terminal: what is wrong and what to do. No stack is printed for it. */
export class StartError extends Error {
  override name = 'StartError'
}

/** The system's code of a failed call, such as EADDRINUSE; undefined for every other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/**
 * The errors of a start that the person at the terminal can mend. By name: most starts that are refused have loaded only a
 * few of the files that define them, and need no more.
 */
const FOR_THE_TERMINAL: ReadonlySet<string> = new Set([
  'ConfigError',
  'DataKeyError',
  'ListenError',
  'MissingPackageError',
  'NewerLayoutError',
  'SecretKeyError',
  'StartError',
  'UnsafeRedisError',
])

/** The sentence to print for such an error; undefined for an unexpected one. */
export const startupErrorMessage = (error: unknown): string | undefined =>
  error instanceof Error && FOR_THE_TERMINAL.has(error.name) ? error.message : undefined
