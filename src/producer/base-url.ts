// The address that people reach this service at, for links in answers.
import type { Request } from 'express'
import type { Config } from '../config.ts'

/** The configured address, else the one that the request was sent to; without a slash at its end. */
export const baseUrlOf = (config: Pick<Config, 'publicUrl'>, request: Request): string =>
  config.publicUrl ?? `${request.protocol}://${request.get('host') ?? ''}`
