// An operator who is signed in to the console, as their browser shows it.

import { createCredential } from '../../src/accounts/credentials.ts'
import { createSession } from '../../src/accounts/sessions.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import type { Redis } from '../../src/redis/connect.ts'

/** The header of a session whose key this is; of a new operator's key when none is given. */
export async function sessionHeader(redis: Redis, secret?: string): Promise<{ cookie: string }> {
  const key = secret ?? (await createCredential(redis, NO_ACCOUNT, [OPERATOR], Date.now())).secret
  return { cookie: `laneway_session=${(await createSession(redis, key, Date.now())).id}` }
}
