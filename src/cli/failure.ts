// How a command ends that cannot do its work: one sentence for the person who typed it and an exit code.

import { isFilesAway } from '../files/store.ts'
import { ConfigError } from '../kernel/config.ts'
import { MissingPackageError } from '../kernel/optional-packages.ts'
import { Refusal } from '../kernel/refusal.ts'
import { SealError } from '../kernel/seal.ts'
import { DataKeyError } from '../kernel/sealed.ts'
import { SecretKeyError } from '../kernel/secret-keys.ts'
import { isRedisAway, isReplyError } from '../redis/errors.ts'
import { NewerLayoutError } from '../redis/migrations.ts'
import { CorruptRecordError } from '../redis/records.ts'

/** Exit codes: 1 for what was refused or could not be done, 2 for what was typed wrongly, 3 when nobody answers. */
export type ExitCode = 1 | 2 | 3

/** An end with a message for the person. The message is one sentence. */
export class CliFailure extends Error {
  override name = 'CliFailure'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** What to print for an error and how to exit; undefined for one that nobody expected, whose stack is worth seeing. */
export function explain(error: unknown): { sentence: string; exitCode: ExitCode } | undefined {
  if (error instanceof CliFailure) return { sentence: error.message, exitCode: error.exitCode }
  if (error instanceof Refusal) return { sentence: sentenceOfRefusal(error), exitCode: 1 }
  if (!(error instanceof Error)) return undefined
  if (
    [ConfigError, MissingPackageError, NewerLayoutError, SealError, SecretKeyError, DataKeyError].some(
      (kind) => error instanceof kind,
    )
  ) {
    return { sentence: error.message, exitCode: 1 }
  }
  if (error instanceof CorruptRecordError) return { sentence: `The ${error.message}.`, exitCode: 1 }
  if (isFilesAway(error)) return { sentence: `The files cannot be used: ${reasonOf(error)}.`, exitCode: 3 }
  if (isReplyError(error)) return { sentence: `Redis error: ${reasonOf(error)}.`, exitCode: 1 }
  if (isRedisAway(error)) return { sentence: `Redis cannot be used: ${reasonOf(error)}.`, exitCode: 3 }
  return undefined
}

/** The sentence of a refusal, and all that it names besides. */
const sentenceOfRefusal = ({ message, faults }: Refusal): string =>
  message +
  faults
    .slice(1)
    .map(({ path, message: more }) => `\n  ${path}: ${more}.`)
    .join('')

/** The message of an error, without a full stop, to end a sentence with. Some of Node's have only their code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The client library's message about a command while there is no connection names a setting of its own.
  if (error.message.startsWith("Stream isn't writeable")) return 'the connection is lost'
  const message = error.message || ('code' in error ? String(error.code) : error.name)
  return message.replace(/\.+$/, '')
}

/** A file of the person's that cannot be read or written; named with its whole path, because npm changes the folder. */
export function fileFailure(path: string, error: unknown): CliFailure {
  const reason = error instanceof Error && 'code' in error ? REASONS.get(String(error.code)) : undefined
  return new CliFailure(`The file ${path} cannot be used: ${reason ?? reasonOf(error)}.`)
}

const REASONS = new Map([
  ['ENOENT', 'there is no such file or folder'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a folder'],
  ['ERR_FS_EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['ENOSPC', 'the disk is full'],
])
