// The present version on what the version before left behind: Redis, producer and simulator run and the fixture is
// loaded; a worker is the test's to start. Short calls for what the upgrade test asks, whose answers name what is wrong.
import { z } from 'zod'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { runCli } from './cli.ts'
import { newDataDir } from './laneway.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { startRedis } from './redis.ts'
import { type Expected, fixtureSecrets, loadUpgradeFixture } from './upgrade-fixture.ts'
import { eventually } from './wait.ts'

export type Message = Expected['messages'][number]
/** A message that the test looks up by itself. */
type Sent = Pick<Message, 'account' | 'id' | 'to' | 'what'>

const LOOKUPS = { info: '/chatappbusiness/fetchmessageinfo', delivery: '/chatappbusiness/getmessgageinfobyid' }
const STATES = 'queued sending unconfirmed sent delivered read failed expired cancelled unknown'.split(' ')
/** The longest wait of all: an attempt whose worker died is taken up again, then its lane's or recipient's rest ends. */
const LIMIT_MS = 100_000

const described = z.looseObject({
  state: z.string(),
  reason: z.string().nullable(),
  progress: z.record(z.string(), z.number().nullable()),
})
const status = z.object({ status: z.string(), error_message: z.string().nullable() })
const exportedRow = z.object({ recipient: z.string(), state: z.string(), possible_duplicate: z.string().nullable() })

/** The sum of all states of a campaign's progress, which must be its total. */
export const sumOf = (progress: z.infer<typeof described>['progress']): number =>
  STATES.reduce((sum, state) => sum + (progress[state] ?? 0), 0)

export const named = ({ what, id }: Pick<Message, 'what' | 'id'>): string => `${what} (${id})`
/** Recipients with the names of their messages. */
export const recipientsOf = (messages: readonly Sent[]) => new Map(messages.map((each) => [each.to, named(each)]))

export type Upgraded = Awaited<ReturnType<typeof startUpgraded>>

export async function startUpgraded() {
  const server = await startRedis()
  const redis = connectWithRetry(server.url)
  const folder = newDataDir()
  const parts: TestProcess[] = []
  const secrets = fixtureSecrets()
  const env = {
    ...secrets,
    REDIS_URL: server.url,
    LANEWAY_DATA_DIR: folder.dataDir,
    LANEWAY_SEND_TIMEOUT_SECONDS: '5',
    LANEWAY_UNCONFIRMED_WAIT_SECONDS: '1',
    PORT: '0',
  }

  function start(part: 'producer' | 'worker' | 'simulator', more: Record<string, string> = {}): TestProcess {
    const started = startProcess(process.execPath, ['scripts/run.mjs', part], { ...env, ...more })
    parts.push(started)
    return started
  }
  const urlOf = (part: TestProcess): Promise<string> =>
    eventually(async () => /"url":"(http:[^"]+)"/.exec(part.stdout())?.[1], 'a part says where it listens', 60_000)

  const producerUrl = await urlOf(start('producer'))
  const simulatorUrl = await urlOf(
    start('simulator', {
      SIMULATOR_PORT: '0',
      SIMULATOR_APP_SECRET: secrets.LANEWAY_CLOUD_API_APP_SECRET,
      SIMULATOR_WEBHOOK_URL: `${producerUrl}/webhooks/cloud-api`,
      SIMULATOR_SENT_MS: '0',
      SIMULATOR_DELIVERED_MS: '0',
      SIMULATOR_READ_MS: '0',
    }),
  )
  const expected = await loadUpgradeFixture(redis, folder.dataDir, simulatorUrl)

  async function request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(producerUrl + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, json: () => JSON.parse(text) }
  }

  const keyOf = (account: Message['account']): string => expected.accounts[account].key
  const asHarbour = (method: string, path: string, body?: unknown) =>
    request(method, path, body, { authorization: `Bearer ${keyOf('harbour')}` })

  const ask = (which: keyof typeof LOOKUPS, { account, id }: Pick<Message, 'account' | 'id'>) =>
    request('POST', LOOKUPS[which], { api_key: keyOf(account), message_id: id })

  /** What the lookup says, or the error that it answers with. */
  async function deliveryOf(message: Pick<Message, 'account' | 'id'>): Promise<z.infer<typeof status>> {
    const answer = await ask('delivery', message)
    if (answer.status === 200) return status.parse(answer.json().message)
    return { status: `${answer.status}`, error_message: answer.text }
  }

  /** Recipients in the order in which the chat product took messages for them from this version. */
  async function sentNow(): Promise<string[]> {
    const text = await (await fetch(`${simulatorUrl}/_ledger`)).text()
    const line = z.object({ to: z.string() })
    return text
      .split('\n')
      .filter(Boolean)
      .map((each) => line.parse(JSON.parse(each)).to)
  }
  const times = (recipient: string, sent: readonly string[]): number => sent.filter((to) => to === recipient).length

  const show = async (id: string) => described.parse((await asHarbour('GET', `/campaigns/${id}`)).json().data)
  function campaign(name: string): Expected['campaigns'][string] {
    const found = expected.campaigns[name]
    if (!found) throw new Error(`the fixture has no campaign ${name}`)
    return found
  }

  return {
    expected,
    server,
    start,
    request,
    keyOf,
    asHarbour,
    deliveryOf,
    times,
    show,
    campaign,

    async infoOf(message: Pick<Message, 'account' | 'id'>): Promise<unknown> {
      const answer = await ask('info', message)
      return answer.status === 200 ? answer.json().message.data : answer.text
    },

    /** The command line, in JSON. */
    async cli(...words: string[]) {
      const run = await runCli([...words, '--json'], env)
      if (run.code !== 0) throw new Error(`${words.join(' ')}: ${run.stderr}`)
      return JSON.parse(run.stdout)
    },

    which: (...becomes: Message['becomes'][]): Message[] =>
      expected.messages.filter((message) => becomes.includes(message.becomes)),

    /** Waits until the messages have one of the states; returns what those are that have not. */
    async areNot(states: readonly string[], messages: readonly Sent[]): Promise<string[]> {
      let others: string[] = []
      const settled = async () => {
        const now = await Promise.all(messages.map(deliveryOf))
        others = messages.flatMap((message, i) =>
          states.includes(now[i]?.status ?? '') ? [] : [`${named(message)} is ${JSON.stringify(now[i])}`],
        )
        return others.length === 0
      }
      await eventually(settled, states.join(' or '), LIMIT_MS).catch(() => {})
      return others
    },

    /** Everybody who got a message, as often as they did, from the old version and this one. */
    sent: async (): Promise<string[]> => [...expected.sent, ...(await sentNow())],

    /** Recipients who did not get so many messages from this version, or from both together, with how many they got. */
    async didNotGet(count: number, recipients: ReadonlyMap<string, string>, from: 'this version' | 'both') {
      const sent = [...(from === 'both' ? expected.sent : []), ...(await sentNow())]
      return [...recipients]
        .filter(([to]) => times(to, sent) !== count)
        .map(([to, what]) => `${what} to ${to}: ${times(to, sent)} times`)
    },

    /** The progress of the campaign, once it has the state. */
    reaches: (name: string, state: string) =>
      eventually(
        async () => {
          const now = await show(campaign(name).id)
          if (now.state === state) return now.progress
          throw new Error(JSON.stringify(now))
        },
        `the campaign "${name}" is ${state}`,
        LIMIT_MS,
      ),

    /** Recipients of a finished campaign who got no message, or two without a word of it in the export. */
    async wrongIn(name: string): Promise<string[]> {
      const sent = [...expected.sent, ...(await sentNow())]
      const { text } = await asHarbour('GET', `/campaigns/${campaign(name).id}/export?format=ndjson`)
      const lines = text.trimEnd().split('\n')
      const rows = new Map(lines.map((each) => exportedRow.parse(JSON.parse(each))).map((row) => [row.recipient, row]))
      return campaign(name).recipients.flatMap((to) => {
        const got = times(to, sent)
        const row = rows.get(to)
        if (row && (got === 1 || (got === 2 && row.possible_duplicate === 'yes'))) return []
        return [`${to} got ${got}, and the export says ${JSON.stringify(row)}`]
      })
    },

    async close(): Promise<void> {
      for (const part of parts) part.kill('SIGKILL')
      await Promise.all(parts.map(({ ended }) => ended))
      redis.disconnect()
      await folder.remove()
      await server.stop()
    },
  }
}
