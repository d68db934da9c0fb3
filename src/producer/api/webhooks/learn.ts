// Learns from webhooks, apart from what they report, which account at WhatsApp a number of ours belongs to, and which names are one
// person's. Nothing is learned twice within an hour: a message has three reports.
import { LRUCache } from 'lru-cache'
import { isWabaOfOthers, type Sender, senderOfPhoneNumberId, setSenderProvider } from '../../../accounts/senders.ts'
import { acceptedAtMs, parseMessageId } from '../../../kernel/message-id.ts'
import { mostEntries } from '../../../kernel/most-entries.ts'
import { HOUR_MS } from '../../../kernel/time-units.ts'
import type { Tombstones } from '../../../people/tombstones.ts'
import type { OpaqueIds } from '../../../providers/cloud-api.ts'
import type { WebhookContent } from '../../../providers/cloud-webhook.ts'
import type { Redis } from '../../../redis/connect.ts'
import { type DatedNaming, learnNames } from '../../../reports/learn-names.ts'
import { mayGoOn } from './may-go-on.ts'

/** What is remembered: some 2 MB. */
const NUMBERS = 500
const PEOPLE = 10_000
const REMEMBERED_MS = HOUR_MS
/** Namings that are learned in one step. */
const AT_ONCE = 200

export interface LearnDeps {
  redis: Redis
  tombstones: Tombstones
  opaqueIds: OpaqueIds
}

export type Learning = ReturnType<typeof createLearning>

/** `account` is the one of the address that a webhook came to, undefined for the address of the installation. */
export function createLearning(deps: LearnDeps) {
  const { redis } = deps
  const numbersSeen = new LRUCache<string, true>({ ...mostEntries(NUMBERS), ttl: REMEMBERED_MS, perf: performance })
  const peopleSeen = new LRUCache<string, true>({ ...mostEntries(PEOPLE), ttl: REMEMBERED_MS, perf: performance })

  async function learnAccount(
    { phoneNumberId, wabaId }: WebhookContent['numbers'][number],
    account: number | undefined,
  ): Promise<void> {
    const seen = `${account} ${phoneNumberId} ${wabaId}`
    if (numbersSeen.has(seen)) return
    const sender = await senderOfPhoneNumberId(redis, phoneNumberId)
    if (sender?.waba_id === '' && (account === undefined || (await mayLearn(redis, sender, wabaId, account)))) {
      await setSenderProvider(redis, sender.id, { wabaId })
    }
    // Remember after storing: if Redis was away, the webhook comes again and must be learned from then.
    numbersSeen.set(seen, true)
  }

  /** `reported`: the cache keys of namings that come with every report of a message. */
  async function learnPiece(
    owner: number,
    piece: readonly DatedNaming[],
    reported: ReadonlyMap<DatedNaming, string>,
  ): Promise<void> {
    // Remember after storing, as above.
    for (const each of await learnNames(deps, owner, piece)) {
      const seen = reported.get(each)
      if (seen !== undefined) peopleSeen.set(seen, true)
    }
  }

  return {
    /**
     * Learns the account at WhatsApp of numbers that have none yet, from webhooks of their messages. Resolves to the errors
     * that occurred.
     */
    async learnAccounts(numbers: WebhookContent['numbers'], account: number | undefined): Promise<unknown[]> {
      const errors: unknown[] = []
      for (const number of numbers) if (!(await mayGoOn(learnAccount(number, account), errors))) break
      return errors
    },

    /**
     * Learns names of people, for each account from webhooks of its own numbers. Resolves to the errors that occurred.
     */
    async learnPeople(namings: WebhookContent['namings'], account: number | undefined): Promise<unknown[]> {
      const errors: unknown[] = []
      const senders = new Map<string, Sender | undefined>()
      for (const id of new Set(namings.map((each) => each.phoneNumberId))) {
        const finding = senderOfPhoneNumberId(redis, id).then((sender) => senders.set(id, sender))
        if (!(await mayGoOn(finding, errors))) break
      }
      const byAccount = new Map<number, DatedNaming[]>()
      const reported = new Map<DatedNaming, string>()
      for (const { phoneNumberId, isTheirAct, opaque, atMs, ...naming } of namings) {
        const seen = `${account} ${phoneNumberId} ${naming.names.join()} ${naming.before}`
        if (!isTheirAct && peopleSeen.has(seen)) continue
        const sender = senders.get(phoneNumberId)
        if (sender === undefined || (account ?? sender.account) !== sender.account) continue
        const own = byAccount.get(sender.account) ?? []
        byAccount.set(sender.account, own)
        const dated: DatedNaming = { ...naming, asOf: atMs ?? (isTheirAct ? 'now' : acceptedOf(deps, opaque)) }
        own.push(dated)
        if (!isTheirAct) reported.set(dated, seen)
      }
      const some = [...byAccount].flatMap(([owner, own]) => inPieces(own).map((piece) => ({ owner, piece })))
      for (const { owner, piece } of some) {
        if (!(await mayGoOn(learnPiece(owner, piece, reported), errors))) break
      }
      return errors
    },
  }
}

const inPieces = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / AT_ONCE) }, (_none, i) => all.slice(i * AT_ONCE, (i + 1) * AT_ONCE))

/** Webhooks to the address of an account are signed by its own app, which counts only for its own senders and no other account's WABA. */
const mayLearn = async (redis: Redis, sender: Sender, wabaId: string, account: number): Promise<boolean> =>
  sender.account === account && !(await isWabaOfOthers(redis, wabaId, account))

/** When the message of a report was accepted (epoch ms); 0 of one that is not ours. */
function acceptedOf({ opaqueIds }: LearnDeps, opaque: string | undefined): number {
  const ours = opaque === undefined ? undefined : opaqueIds.verify(opaque)
  const id = ours && parseMessageId(ours.id)
  return id === undefined ? 0 : acceptedAtMs(id.ulid)
}
