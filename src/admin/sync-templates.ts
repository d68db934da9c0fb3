// One sync: lists the templates of an account at WhatsApp page by page and stores them. Its progress is written to Redis after each page,
// so that a worker that continues, after a death or a backoff, starts after the last one. Repeating a page changes nothing. Only a complete
// list shows which templates are gone.

import { type Sender, sortSenders, tokenOf } from '../accounts/senders.ts'
import { findTemplateSync, type SyncedAccount, THROTTLED, writeTemplateSync } from '../accounts/template-syncs.ts'
import { dropTemplates, markDeleted, missedBy, writeListed } from '../accounts/templates.ts'
import type { MoveDeps } from '../campaigns/commands/moves.ts'
import { pauseForTemplate } from '../campaigns/commands/template-paused.ts'
import { listCampaigns } from '../campaigns/store/list.ts'
import { cutText } from '../kernel/cut-text.ts'
import type { Log } from '../kernel/log.ts'
import type { Seal } from '../kernel/seal.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { CAMPAIGN_STATES, hasEnded } from '../model/campaigns/lifecycle.ts'
import { whyNotSendable } from '../model/templates/template.ts'
import { PAGE_SIZE, readTemplatePage, type TemplatePageEnd } from '../providers/cloud-templates.ts'
import type { GraphApi, GraphRefusal } from '../providers/graph-api.ts'
import { redisNowMs } from '../redis/clock.ts'
import { rootKeys } from '../redis/keys.ts'

export type SyncDeps = MoveDeps & { graph: Pick<GraphApi, 'ask'>; seal: Seal; log: Log }

/** More pages of the smallest size than WhatsApp lets an account have templates. */
const MOST = { pages: 1_000, templates: 20_000, bytes: 128 * 1024 * 1024 }
/** A list that takes longer, with its waits, is started again: its first pages are too old to show what is gone. */
const LONGEST_MS = 3 * HOUR_MS
/** How long to back off when WhatsApp throttles without a time. */
const THROTTLED_MS = 300_000
/** After a fault, twice as long after each further one, up to an hour. */
const FAULT_MS = 30_000

/** When to list this account again, in ms from now; undefined: never, because no sender belongs to it any more. */
export type SyncEnd = { nextMs: number } | 'stopped' | undefined

/**
 * Runs the sync of an account at WhatsApp to its end, or until `stopped`, or until `mayGoOn`, called before each page, returns false.
 * Rejects when Redis is away, and when its record or that of its only sender is broken.
 */
export async function syncTemplates(
  deps: SyncDeps,
  synced: SyncedAccount,
  { stopped, mayGoOn }: { stopped: AbortSignal; mayGoOn: () => Promise<boolean> },
): Promise<SyncEnd> {
  if ((await sendersOf(deps, synced)).length === 0) return undefined
  const run = await begin(deps, synced)
  const seen = new Set<string>()
  let size = PAGE_SIZE
  for (;;) {
    if (stopped.aborted || !(await mayGoOn())) return 'stopped'
    // Read for each page: the senders, or their account, may have been removed meanwhile.
    const senders = await sendersOf(deps, synced)
    if (senders.length === 0) return undefined
    const page = await ask(deps, senders, { wabaId: synced.wabaId, after: run.after || undefined, size, stopped })
    if (stopped.aborted) return 'stopped'
    if (page.kind !== 'page') return notListed(deps, synced, run, page)
    size = page.size
    await take(deps, synced, run, page)
    if (page.next === undefined) return finish(deps, synced, run)
    const problem = whyNoFurther(run, page.next, seen, await nowOf(deps))
    if (problem !== undefined) return broken(deps, synced, run, problem)
    seen.add(page.next)
    run.after = page.next
    await save(deps, synced, run)
    if (page.backoffMs !== undefined) return backOff(deps, synced, page.backoffMs)
  }
}

/** The progress of a sync, written after each page. */
interface Run extends Counts {
  beganMs: number
  after: string
  failures: number
  emptyLists: number
}
type Counts = typeof NOTHING
const NOTHING = { pages: 0, bytes: 0, listed: 0, added: 0, changed: 0, not_sendable: 0, unreadable: 0, of_another: 0 }

const nowOf = ({ redis }: SyncDeps): Promise<number> => redisNowMs(redis, rootKeys.templateSyncs)

/** Continues an interrupted sync, or starts one. */
async function begin(deps: SyncDeps, synced: SyncedAccount): Promise<Run> {
  const nowMs = await nowOf(deps)
  const known = await findTemplateSync(deps.redis, synced)
  const { failures, empty_lists: emptyLists } = known
  const isUnderWay = known.after !== '' && nowMs - (known.began_at ?? 0) < LONGEST_MS
  if (isUnderWay) {
    await writeTemplateSync(deps.redis, synced, { state: 'running' })
    return { ...known, beganMs: known.began_at ?? nowMs, emptyLists }
  }
  await writeTemplateSync(deps.redis, synced, { state: 'running', began_at: nowMs, after: '', ...NOTHING })
  return { ...NOTHING, beganMs: nowMs, after: '', failures, emptyLists }
}

const save = (
  { redis }: SyncDeps,
  synced: SyncedAccount,
  { beganMs: _began, emptyLists, ...run }: Run,
): Promise<void> =>
  writeTemplateSync(redis, synced, {
    ...{ after: run.after, failures: run.failures, empty_lists: emptyLists },
    ...Object.fromEntries(Object.keys(NOTHING).map((name) => [name, run[name as keyof Counts]])),
  })

type PageOf<K> = Extract<TemplatePageEnd, { kind: K }>

/** Stores a page. */
async function take(deps: SyncDeps, { account, wabaId }: SyncedAccount, run: Run, page: PageOf<'page'>): Promise<void> {
  const list = { wabaId, atMs: page.atMs, beganMs: run.beganMs }
  const ends = await writeListed(deps.redis, account, list, page.templates)
  const countOf = (end: string): number => ends.filter((each) => each === end).length
  run.pages += 1
  run.listed += page.templates.length
  run.bytes += page.templates.reduce((sum, { text }) => sum + text.length, 0)
  run.added += countOf('new')
  run.changed += countOf('changed')
  run.of_another += countOf('of_another')
  run.unreadable += page.unreadable
  run.not_sendable += page.templates.filter(({ template }) => whyNotSendable(template) !== undefined).length
}

/** Why the next page is not requested. */
function whyNoFurther(run: Run, next: string, seen: ReadonlySet<string>, nowMs: number): string | undefined {
  if (next === run.after || seen.has(next)) return 'page_loop'
  if (nowMs - run.beganMs > LONGEST_MS) return 'too_long'
  return run.pages >= MOST.pages || run.listed >= MOST.templates || run.bytes >= MOST.bytes ? 'too_many' : undefined
}

/**
 * The senders that belong to the account at WhatsApp. Rejects with a CorruptRecordError when there is none, but a broken one might: what
 * nobody belongs to is forgotten.
 */
async function sendersOf(deps: SyncDeps, { account, wabaId }: SyncedAccount): Promise<Sender[]> {
  const { senders, broken } = await sortSenders(deps.redis, account)
  const found = senders.filter((sender) => sender.provider === 'cloud-api' && sender.waba_id === wabaId)
  const [first] = broken
  if (found.length === 0 && first !== undefined) throw first.error
  return found
}

/** How many senders' tokens are tried, one after the other, while WhatsApp refuses them. */
const TOKENS_TRIED = 3

async function ask(
  { graph, seal }: SyncDeps,
  senders: readonly Sender[],
  { stopped, ...page }: { wabaId: string; after: string | undefined; size: number; stopped: AbortSignal },
): Promise<TemplatePageEnd> {
  let end: TemplatePageEnd = { kind: 'unavailable', cause: 'no_token' }
  for (const sender of senders.slice(0, TOKENS_TRIED)) {
    const token = tokenOf(seal, sender)
    if (token === undefined) continue
    end = await readTemplatePage(graph, { baseUrl: sender.base_url, token }, { ...page, signal: stopped })
    if (end.kind !== 'refused' || end.isThrottled) return end
  }
  return end
}

/** The list is complete: templates that are not in it are gone, and campaigns of templates that cannot be sent are paused. */
async function finish(deps: SyncDeps, synced: SyncedAccount, run: Run): Promise<SyncEnd> {
  const { redis, log } = deps
  const { account, wabaId } = synced
  const gone = await missedBy(redis, account, { wabaId, beganMs: run.beganMs })
  // An empty list may be WhatsApp's mistake, and would stop everything: it counts if it comes twice.
  const isDoubtful = run.listed + run.unreadable === 0 && gone.some(({ isDeleted }) => !isDeleted)
  const emptyLists = isDoubtful ? run.emptyLists + 1 : 0
  const isPutOff = emptyLists === 1
  const counts = isPutOff ? NONE_GONE : await removeGone(deps, account, gone)
  await pauseForTemplate(deps, account)
  await save(deps, synced, { ...run, after: '', failures: 0, emptyLists })
  await writeTemplateSync(redis, synced, {
    ...{ state: 'done', ended_at: await nowOf(deps), again_at: 0, ...counts },
    ...(isPutOff ? { problem: 'empty_list', sentence: EMPTY } : { problem: '', sentence: '' }),
  })
  const { pages, listed, added, changed, unreadable } = run
  log.info({ account, waba_id: wabaId, pages, listed, added, changed, unreadable, ...counts }, 'templates.synced')
  return { nextMs: hourly() }
}

const NONE_GONE = { removed: 0, kept_deleted: 0 }
const EMPTY = 'WhatsApp’s list was empty, so nothing was removed yet; it will be if the next list is empty too.'

async function removeGone(deps: SyncDeps, account: number, gone: Awaited<ReturnType<typeof missedBy>>) {
  if (gone.length === 0) return NONE_GONE
  const named = await namedByCampaigns(deps, account)
  const isNamed = ({ name, language }: { name: string; language: string }) => named.has(`${name}/${language}`)
  const kept = gone.filter(isNamed)
  for (const template of kept) if (!template.isDeleted) await markDeleted(deps.redis, account, template)
  const removed = gone.filter((template) => !isNamed(template))
  await dropTemplates(deps.redis, account, removed)
  return { removed: removed.length, kept_deleted: kept.length }
}

async function namedByCampaigns({ redis }: SyncDeps, account: number): Promise<Set<string>> {
  const named = new Set<string>()
  const states = CAMPAIGN_STATES.filter((state) => !hasEnded(state))
  for await (const page of listCampaigns(redis, account, { offset: 0, limit: Number.MAX_SAFE_INTEGER, states })) {
    for (const { definition } of page) named.add(`${definition.template.name}/${definition.template.language.code}`)
  }
  return named
}

/** Every hour, with jitter. */
const hourly = (): number => HOUR_MS + Math.floor(Math.random() * 300_000)

/** WhatsApp throttles: the sync continues after the backoff. */
async function backOff(deps: SyncDeps, synced: SyncedAccount, ms: number): Promise<SyncEnd> {
  const nextMs = Math.max(1_000, ms)
  const sentence = 'WhatsApp throttles the requests; the sync goes on by itself.'
  const problem = { state: 'waiting', problem: THROTTLED, sentence } as const
  await writeTemplateSync(deps.redis, synced, { ...problem, again_at: (await nowOf(deps)) + nextMs })
  return { nextMs }
}

/** The page could not be read. */
function notListed(
  deps: SyncDeps,
  synced: SyncedAccount,
  run: Run,
  end: Exclude<TemplatePageEnd, { kind: 'page' }>,
): Promise<SyncEnd> {
  if (end.kind === 'unavailable') return broken(deps, synced, run, end.cause)
  if (end.isThrottled) return backOff(deps, synced, end.backoffMs ?? THROTTLED_MS)
  return failed(deps, synced, run, { problem: String(end.code ?? `http_${end.status}`), sentence: sentenceFor(end) })
}

const REASONS: Readonly<Record<number, string>> = {
  190: 'WhatsApp does not take the token; give the sender a new one with `senders renew`.',
  10: 'The token may not read templates: it lacks the permission whatsapp_business_management.',
  200: 'The token may not read templates: it lacks the permission whatsapp_business_management.',
  100: 'WhatsApp knows no such account for this token; check `waba_id`, and that the system user has the account.',
}

const sentenceFor = ({ code, says }: GraphRefusal): string =>
  cutText(`${REASONS[code ?? 0] ?? 'WhatsApp refused the list.'}${says === '' ? '' : ` It says: ${says}`}`, 500)

const FAULTS: Readonly<Record<string, string>> = {
  page_loop: 'WhatsApp’s list leads in circles; nothing was removed.',
  foreign_page: 'WhatsApp’s list goes on at another server, which is not asked; nothing was removed.',
  too_many: `WhatsApp’s list has more than ${MOST.templates} templates, or too long ones; nothing was removed.`,
  too_long: 'WhatsApp’s list took hours; nothing was removed.',
  unreadable_answer: 'The answer is not a list of templates.',
  no_token: 'The token of the sender cannot be opened.',
}

/** A fault that may pass: the pages so far are stored, and the list is started again after a while. */
async function broken(deps: SyncDeps, synced: SyncedAccount, run: Run, problem: string): Promise<SyncEnd> {
  const sentence = FAULTS[problem] ?? `WhatsApp’s list cannot be had: ${problem}.`
  return failed(deps, synced, run, { problem, sentence })
}

async function failed(
  deps: SyncDeps,
  synced: SyncedAccount,
  run: Run,
  { problem, sentence }: { problem: string; sentence: string },
): Promise<SyncEnd> {
  const failures = run.failures + 1
  const nextMs = Math.min(FAULT_MS * 2 ** Math.min(run.failures, 10), HOUR_MS)
  const endedMs = await nowOf(deps)
  await save(deps, synced, { ...run, after: '', failures })
  await writeTemplateSync(deps.redis, synced, {
    ...{ state: 'failed', ended_at: endedMs, again_at: endedMs + nextMs },
    ...{ problem, sentence },
  })
  const { account, wabaId } = synced
  deps.log.warn({ account, waba_id: wabaId, problem, failures, wait_ms: nextMs }, 'templates.not_synced')
  return { nextMs }
}
