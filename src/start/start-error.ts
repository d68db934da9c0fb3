// What keeps a process from starting and can be put right by the person who started it.

/** The message is one sentence for the terminal: what is wrong and what to do. No stack is printed for it. */
export class StartError extends Error {
  override name = 'StartError'
}

/** The system's code of a failed call, such as EADDRINUSE; undefined for every other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
