// What any error of a handler is to who asked: a refusal with its code, storage that is away, or a fault of ours.
import { isFilesAway } from '../files/store.ts'
import { Refusal } from '../kernel/refusal.ts'
import { isRedisAway } from '../redis/errors.ts'
import { OtherInstallationError } from '../redis/installation.ts'
import { ApiError, internal, otherStorage, refused, storageAway } from './errors.ts'

/** The error to answer with; code `internal`, with the cause, for one that nobody expected. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof Refusal) return refused(thrown)
  if (thrown instanceof OtherInstallationError) return otherStorage(thrown)
  if (isRedisAway(thrown) || isFilesAway(thrown)) return storageAway(thrown)
  if (thrown instanceof URIError) return new ApiError(400, 'invalid_path', 'The path is not valid percent-encoding.')
  return internal(thrown)
}
