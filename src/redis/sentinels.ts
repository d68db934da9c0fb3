// Asks the Sentinels who the primary is, so that a connection leaves one that they have replaced. One that is cut off from them
// answers its clients as before, and all that it takes is thrown away once it is back. ioredis can listen to the Sentinels
// itself, but a failover during its connect ends its connection for good.
import { Redis, type RedisOptions } from 'ioredis'

const ASK_EVERY_MS = 1_000
/** A Sentinel that has not answered for this long gets a new connection, since the kernel gives up only after minutes. */
const SILENT_MS = 3 * ASK_EVERY_MS

/** Has the connection leave a primary that the Sentinels have replaced, for as long as it lives. */
export function watchSentinels(redis: Redis): void {
  const { sentinels = [], name = '', sentinelUsername, sentinelPassword, sentinelTLS } = redis.options
  const options: Omit<RedisOptions, 'replyMapping'> = {
    ...(sentinelUsername ? { username: sentinelUsername } : {}),
    ...(sentinelPassword ? { password: sentinelPassword } : {}),
    ...(sentinelTLS ? { tls: sentinelTLS } : {}),
    ...{ protocol: 2, enableReadyCheck: false, enableOfflineQueue: false, maxRetriesPerRequest: 0 },
    ...{ commandTimeout: ASK_EVERY_MS, connectTimeout: 2 * ASK_EVERY_MS, socketTimeout: SILENT_MS },
    retryStrategy: (tries) => Math.min(200 * tries, 2_000),
  }
  const asked = sentinels.map(({ host = '', port = 26_379 }) => {
    const sentinel = new Redis(port, host, options)
    // One that is away sends nothing.
    sentinel.on('error', () => {})
    return { sentinel, said: '' }
  })

  async function ask(one: (typeof asked)[number]): Promise<void> {
    const answer = await one.sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    if (!Array.isArray(answer)) return
    const [before, says] = [one.said, answer.join(':')]
    one.said = says
    const { remoteAddress, remotePort } = redis.stream
    const isThere = says === `${remoteAddress}:${remotePort}`
    // Only an established connection: to interrupt one that is being made would end it for good.
    if (before !== '' && says !== before && !isThere && redis.status === 'ready') redis.disconnect(true)
  }

  const timer = setInterval(() => {
    for (const one of asked) if (one.sentinel.status === 'ready') ask(one).catch(() => {})
  }, ASK_EVERY_MS).unref()
  redis.once('end', () => {
    clearInterval(timer)
    for (const { sentinel } of asked) sentinel.disconnect()
  })
}
