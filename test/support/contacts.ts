// Contact lists of two accounts, behind real HTTP, on a private Redis.
import { z } from 'zod'
import { createAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential, type Permission } from '../../src/accounts/credentials.ts'
import { tagRoutes } from '../../src/producer/api/contacts/handlers.ts'
import { connectFailFast } from '../../src/redis/connect.ts'
import { apiClient } from './api.ts'
import { startApp } from './app.ts'
import { startRedis } from './redis.ts'

export type TestContacts = Awaited<ReturnType<typeof startContacts>>

/** `records` and `contacts`: an account of each answer shape. */
export async function startContacts() {
  const server = await startRedis()
  const redis = connectFailFast(server.url)
  redis.on('error', () => {})
  await new Promise((resolve) => redis.once('ready', resolve))
  const app = await startApp(redis, tagRoutes({ redis }))
  const accountOf = async (shape: 'records' | 'contacts') => {
    const id = await createAccount(redis, shape)
    await setAccountSettings(redis, id, { contacts_shape: shape })
    const key = async (permissions: Permission[], expiresAtMs = 0) =>
      (await createCredential(redis, id, permissions, Date.now(), expiresAtMs)).secret
    return {
      id,
      key,
      apiKey: await key(['contacts:read']),
      authToken: await key(['contacts:write']),
    }
  }

  return {
    url: app.url,
    server,
    redis,
    records: await accountOf('records'),
    contacts: await accountOf('contacts'),

    async post(path: string, body: unknown, headers: Record<string, string> = {}, key?: string) {
      const answer = await apiClient(app.url, key).post(path, JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      })
      return { ...answer, json: z.record(z.string(), z.unknown()).parse(answer.json) }
    },

    async close(): Promise<void> {
      await app.close()
      redis.disconnect()
      await server.stop()
    },
  }
}
