// Tells trouble with Redis itself from every other error. The one place that knows how ioredis words it.

/** Beginnings of the answers of a server that is there but cannot serve now. */
const SERVER_TROUBLE = /^(LOADING|READONLY|OOM|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|BUSY|TRYAGAIN)\b/
const CONNECTION_TROUBLE =
  /Connection is closed|Command timed out|Stream isn't writeable|Socket timeout|connect ETIMEDOUT|ECONNREFUSED|ECONNRESET|EPIPE|Connection closed?\b/i

/** Whether the error means that Redis is away or refuses for now, so that the caller may try again later. */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error.name === 'MaxRetriesPerRequestError') return true
  if (SERVER_TROUBLE.test(error.message) || CONNECTION_TROUBLE.test(error.message)) return true
  return error.cause !== undefined && isRedisAway(error.cause)
}
