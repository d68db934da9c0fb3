// The order of the rooms of src/, which tests hold imports and docs to.

/**
 * The rooms of src/ from the ground up: a folder imports the folders above it in this list, and never one below. What each is
 * for: docs/how-it-works/architecture.md.
 */
export const ROOMS: readonly string[] = [
  'kernel',
  'model',
  'jobs',
  'redis',
  'files',
  'outbound',
  'accounts',
  'portfolios',
  'people',
  'lanes',
  'gallery',
  'flows',
  'providers',
  'recipients',
  'messages',
  'events',
  'campaigns',
  'reports',
  'admin',
  'erase',
  'telemetry',
  'producer',
  'worker',
  'cli',
  'start',
  'cli.ts',
]
