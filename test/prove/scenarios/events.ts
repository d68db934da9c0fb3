// Messages change while workers, the relay among them, and Redis are killed. One endpoint answers well; another fails,
// hangs, lies about a later time and redirects, and then comes back. What each was told is held against the histories
// of the messages.

import { createEndpoint, newEndpointId } from '../../../src/events/store/endpoints.ts'
import { acceptedAtMs, parseMessageId } from '../../../src/kernel/message-id.ts'
import { createSeal } from '../../../src/kernel/seal.ts'
import { readMessage } from '../../../src/lanes/messages/records.ts'
import { newEndpointFields } from '../../../src/model/events/endpoint.ts'
import { EVENT_TYPES } from '../../../src/model/events/event-schema.ts'
import { readHistory } from '../../../src/model/messages/history.ts'
import { LETTERS } from '../../../src/model/messages/lifecycle.ts'
import { senderKey } from '../../../src/redis/keys.ts'
import { acceptedId } from '../client.ts'
import { type EventReceiver, startEventReceiver, type ToldEvent } from '../event-receiver.ts'
import { killEvery, mostKills, strikeEvery } from '../nemesis.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import type { Random } from '../random.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY, type Rig, SECRET_KEY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

/** Letters of a history that are events, and the state that each tells of. */
const TOLD = new Map([
  ...Object.entries(LETTERS).map(([state, letter]): [string, string] => [letter, state]),
  ['h', 'unconfirmed'],
])
const SILENT = new Set(['q', 'c', 'u'])
/** Nothing more is waited for after this. */
const TOLD_WITHIN_MS = 120_000

export const events: Scenario = {
  name: 'events',
  promise: 'Every change of every message is told at least once, and nothing is told that did not happen.',
  run: (run) =>
    onRig(
      run,
      {
        workers: 3,
        // A message that is never repeated has one step for each change, so that its history is the list of its events.
        tenants: [{ wire: 'cloud-api', policy: 'at_most_once' }],
        env: {
          LANEWAY_EVENTS_ALLOW_PRIVATE: '127.0.0.0/8',
          LANEWAY_EVENTS_RETRY_SECONDS: '1,2,3,5,5,5,5,10,10,10,20,20',
        },
      },
      async (rig) => {
        const steady = await startEventReceiver((response) => Boolean(response.writeHead(204).end()))
        let isBack = false
        const moody = await startEventReceiver(moodyAnswers(run.random.fork('moods'), () => isBack))
        try {
          await register(rig, steady, { max_events: 100, max_wait_ms: 100 })
          await register(rig, moody, { max_events: 20, max_wait_ms: 100 })
          const kills = killEvery(1_500, rig.workers, run.random.fork('kills'), mostKills(run.full))
          const away = run.random.fork('redis kills')
          const redisKills = strikeEvery(6_000, async () => {
            await rig.redis.kill9()
            await pause(away.between(100, 1_000))
            await rig.redis.restart()
          })
          await rig.client.post(rig.tenant, recipientsOf(0, run.full ? 10_000 : 500), run.full ? 200 : 40)
          await Promise.all([kills.stop(), redisKills.stop()])
          isBack = true
          const flagsEarned = kills.strikes() * CONCURRENCY
          const found = await testimonyAtQuiescence(rig, run, { flagsEarned })
          const ids = rig.client.log.flatMap((posted) => acceptedId(posted) ?? [])
          const expected = await changesOf(rig, ids)
          const figures = []
          for (const [name, receiver] of [
            ['steady', steady],
            ['moody', moody],
          ] as const) {
            await untilTold(receiver, expected)
            const { missing, untrue, ids: odd } = compare(receiver.taken, expected)
            figures.push(
              { what: `changes that the ${name} endpoint was not told of`, value: missing, unit: 'changes', atMost: 0 },
              { what: `events of the ${name} endpoint that did not happen`, value: untrue, unit: 'events', atMost: 0 },
              { what: `repetitions at the ${name} endpoint under another id`, value: odd, unit: 'events', atMost: 0 },
              {
                what: `deliveries to the ${name} endpoint with a wrong signature`,
                value: receiver.forged(),
                unit: '',
                atMost: 0,
              },
              {
                what: `events that the ${name} endpoint was told again`,
                value: receiver.taken.length - expected.size,
                unit: 'events',
              },
            )
          }
          run.say(`${expected.size} changes of ${ids.length} messages, workers killed ${kills.strikes()} times`)
          return { judgement: found.judgement, figures }
        } finally {
          await Promise.all([steady.close(), moody.close()])
        }
      },
    ),
}

/** Fails, hangs, promises a later time, redirects, and now and then takes something, until it is back. */
function moodyAnswers(random: Random, isBack: () => boolean): Parameters<typeof startEventReceiver>[0] {
  return (response) => {
    const mood = isBack() ? 1 : random.next()
    if (mood < 0.25) response.writeHead(500).end('no')
    else if (mood < 0.35) setTimeout(() => response.destroy(), 3_000)
    else if (mood < 0.5) response.writeHead(503, { 'retry-after': '1' }).end()
    else if (mood < 0.6) response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()
    else if (mood < 0.7) response.destroy()
    else {
      response.writeHead(204).end()
      return true
    }
    return false
  }
}

async function register(rig: Rig, receiver: EventReceiver, batch: { max_events: number; max_wait_ms: number }) {
  const account = Number(await rig.store.hget(senderKey(rig.tenant.lane), 'account'))
  const fields = newEndpointFields.parse({ url: receiver.url, types: [...EVENT_TYPES], batch })
  const how = { seal: createSeal([SECRET_KEY]), nowMs: Date.now(), id: newEndpointId() }
  receiver.secret = (await createEndpoint(rig.store, account, fields, how)).secret ?? ''
}

/** What had to be told: `<message> <seq>` → state. */
async function changesOf(rig: Rig, ids: readonly string[]): Promise<Map<string, string>> {
  const changes = new Map<string, string>()
  for (const id of ids) {
    const parts = parseMessageId(id)
    const record = parts && (await readMessage(rig.store, parts))
    if (!parts || !record) continue
    for (const [i, { code }] of readHistory(record.history, acceptedAtMs(parts.ulid)).entries()) {
      if (!SILENT.has(code)) changes.set(`${id} ${i + 2}`, TOLD.get(code) ?? code)
    }
  }
  return changes
}

const nameOf = ({ message, seq }: ToldEvent): string => `${message} ${seq}`

async function untilTold(receiver: EventReceiver, expected: ReadonlyMap<string, string>): Promise<void> {
  const end = performance.now() + TOLD_WITHIN_MS
  while (performance.now() < end) {
    const told = new Set(receiver.taken.map(nameOf))
    if ([...expected.keys()].every((name) => told.has(name))) return
    await pause(200)
  }
}

function compare(taken: readonly ToldEvent[], expected: ReadonlyMap<string, string>) {
  const ids = new Map<string, string>()
  let [untrue, odd] = [0, 0]
  for (const event of taken) {
    const name = nameOf(event)
    if (expected.get(name) !== event.state || event.type !== `message.${event.state}`) untrue += 1
    if ((ids.get(name) ?? event.id) !== event.id) odd += 1
    ids.set(name, event.id)
  }
  return { missing: [...expected.keys()].filter((name) => !ids.has(name)).length, untrue, ids: odd }
}
