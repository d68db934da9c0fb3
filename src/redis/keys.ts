// Every Redis key of Laneway is built here; those that BullMQ makes are in lanes/bullmq/layout.ts. Keys that one Lua step
// touches share a hash tag, so that they live on one node of a cluster: `{l12}` for lane 12, `{g7}` for the gallery of
// account 7, `{c7}` for its contacts.
//
// A layout that was released changes by a step of migrations.ts only.
import { createHash } from 'node:crypto'

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 27)

/**
 * What scripts append to a key that they are given, because the key depends on what they read: they have it as
 * `SUFFIX.counts`.
 */
export const SUFFIX = {
  /** Of a campaign. */
  counts: ':counts',
  states: ':states',
  filesWait: ':files-wait',
  /** Of the slots of a lane: until when nobody else gets one, and that somebody would have (message-pace.lua). */
  late: ':late',
  joins: ':joins',
  /** Of a cooldown. */
  reason: '-reason',
  probe: '-probe',
  /** Of the index of a lane, and of a segment of it. */
  open: ':open',
  people: ':to',
  /** Of a gallery. */
  file: ':file:',
  folder: ':folder:',
  files: ':files',
  /** Of contacts. */
  contact: ':contact:',
  tag: ':tag:',
  members: ':members',
  /** Of notices. */
  texts: ':texts',
  kinds: ':kinds',
  ofKind: ':of:',
  missed: ':missed',
  rate: ':rate:',
} as const

/** Keys of the installation as a whole. */
export const rootKeys = {
  /** HASH name → last number given out: account, lane, folder, file, tag, contact, membership. */
  sequences: 'lw:sequences',
  /** ZSET `layout` → number of the layout, which only rises (migrations.ts). */
  layout: 'lw:layout',
  /** STRING: the name of the installation, made at random (installation.ts). */
  installation: 'lw:installation',
  /** STRING: who migrates the layout at the moment; expires. */
  layoutLease: 'lw:layout-lease',
  /** SET of account ids. */
  accounts: 'lw:accounts',
  /** HASH id of a data key → since when it seals nothing new (epoch ms), 0 for the one that seals. */
  dataKeys: 'lw:data-keys',
  /** ZSET worker name → time of its last heartbeat (Redis clock, ms). */
  workers: 'lw:workers',
  /** STRING: checks of opt-outs are valid for longer, because a worker is slow; expires (people/opt-outs/check-validity.ts). */
  slowChecks: 'lw:slow-checks',
  /** HASH lane id → account id, of the senders that are there. */
  lanes: 'lw:lanes',
  /** ZSET `<account> <lane>` of a removed sender → until when (ms) something of the lane is kept. */
  removedLanes: 'lw:removed-lanes',
  /** ZSET lane → time (ms) at which it is due for the sweep; 0: at once. A lane without any work is not in it. */
  dueLanes: 'lw:due-lanes',
  /** STRING: name of the worker that sweeps; ends when that one has not reported for seconds. */
  sweeper: 'lw:sweeper',
  /** HASH id of a portfolio → account id. */
  portfolios: 'lw:portfolios',
  /** ZSET lane whose sender belongs to no portfolio → until when (ms) WhatsApp may hold a message of it. */
  holdingLanes: 'lw:holding-lanes',
  /** ZSET portfolio → until when (ms) WhatsApp may hold a message of it. */
  holdingPortfolios: 'lw:holding-portfolios',
  /** SET of lanes that have a campaign that moves by itself, and of some that had one. */
  campaignLanes: 'lw:campaign-lanes',
  /** SET of lanes that have received messages whose campaign is still to be found. */
  replyLanes: 'lw:reply-lanes',
  /** STRING: held while a sender is added or removed. */
  sendersLock: 'lw:senders-lock',
  /** STREAM: who did what, of the whole installation; see accounts/audit-log.ts. */
  activity: 'lw:activity',
  /** STRING: the lists of requeueable messages were trimmed within this period. */
  trimmed: 'lw:trimmed',
  /** HASH account → the round of its latest erasure; `now`: the round that is being worked on. It expires. */
  erasureRounds: 'lw:erasure-turns',
  /** ZSET `<account>/<account at WhatsApp>` → when its templates must be listed (ms), see accounts/template-syncs.ts. */
  templateSyncs: 'lw:template-syncs',
  /** STRING: a worker has searched in this minute for accounts at WhatsApp without a template sync. */
  templateSyncsPlanned: 'lw:template-syncs:planned',
  /** STRING: there once the expiry job has run in this period. */
  expired: 'lw:expired',
  /** ZSET SHA-256 of gallery content → when a file of it was removed for good (ms): perhaps nobody has it any more. */
  contentWithoutFile: 'lw:content-without-file',
  /** SET of accounts whose events are written, see events/store/outbox.ts. */
  eventAccounts: 'lw:event-accounts',
  /** ZSET `<account> <endpoint>` → when its queue is due for a check (ms). */
  dueEndpoints: 'lw:event-queues-due',
  /** HASH: the figures of event delivery, written by the relay; expires. */
  eventStatus: 'lw:event-status',
  /** STRING: name of the relay; expires seconds after its last renewal. */
  relay: 'lw:event-relay',
  /** Pub/sub channel: lane ids that got work. */
  wake: 'lw:wake',
  /** Pub/sub channel: ids of lanes that the sweep found to have work, separated by spaces. */
  wakeLanes: 'lw:wake-lanes',
  /** Pub/sub channel: lane ids, separated by spaces, on which messages of campaigns wait. */
  wakeCampaigns: 'lw:wake-campaigns',
  /** Pub/sub channel: `<lane>:<workers>`, separated by spaces: lanes that need more workers than serve a lane. */
  wideLanes: 'lw:wide-lanes',
  /** Pub/sub channel: id of a lane that nothing leaves although it could. */
  reopen: 'lw:reopen',
}

/** STRING: by how much (ms) the clock of this server leapt; there while it is not believed (trusted-clock.ts). */
export const clockDoubtKey = (server: string): string => `lw:clock-doubt:${server}`
/** STRING: a worker's report on itself, JSON; ends when it has not reported for seconds. */
export const workerKey = (worker: string): string => `lw:worker:${worker}`
/** HASH: name, settings of one account. */
export const accountKey = (account: number): string => `lw:account:${account}`
/** HASH of one API key, found by the SHA-256 of the secret. */
export const credentialKey = (secretHash: string): string => `lw:key:${secretHash}`
/** HASH key id → SHA-256 of the secret, for listing and revoking. */
export const credentialsOfAccountKey = (account: number): string => `lw:account:${account}:keys`
/** STRING of one session of the console, JSON, by the SHA-256 of the id in its cookie. It expires. */
export const sessionKey = (idHash: string): string => `lw:session:${idHash}`
/** ZSET SHA-256 of a session's id → when it began (ms): the sessions of one key, by the SHA-256 of its secret. It expires. */
export const sessionsOfCredentialKey = (secretHash: string): string => `lw:key:${secretHash}:sessions`
/** HASH key id → when it was last used (epoch ms). */
export const keyUsesKey = (account: number): string => `lw:account:${account}:key-uses`
/** HASH of one day (`2026-11-27`): key id → how often it was used, `<key id> from` → the last address. It expires. */
export const keyUsesOfDayKey = (account: number, day: string): string => `lw:account:${account}:key-uses:${day}`
/**
 * HASH: when webhooks came to the address of the account (of account 0: of the installation), and how many were refused, see
 * accounts/webhook-arrivals.ts. It expires.
 */
export const webhookArrivalsKey = (account: number): string => `lw:account:${account}:webhooks`
/** STREAM: who did what in the account; of account 0, what is nobody's. */
export const accountActivityKey = (account: number): string => `lw:account:${account}:activity`
/** STRING: held while a key of the account is revoked or rotated. */
export const keysLockKey = (account: number): string => `lw:account:${account}:keys-lock`
/** HASH sender digits → lane id, and `name:<name>` → lane id. */
export const sendersOfAccountKey = (account: number): string => `lw:account:${account}:senders`
/**
 * HASH `<name>/<language>` → template definition, JSON, and `listed <name>/<language>` → when and where WhatsApp has listed it,
 * see template-list.lua.
 */
export const templatesKey = (account: number): string => `lw:account:${account}:templates`
/** HASH `<group> <name>/<language>` → WhatsApp's report of a template, see accounts/template-states.ts. */
export const templateStatesKey = (account: number): string => `lw:account:${account}:template-states`
/** HASH: how far the sync of the templates of an account at WhatsApp is, and what came of the last. It expires. */
export const templateSyncKey = (account: number, wabaId: string): string => `lw:template-sync:${account}:${wabaId}`
/** STRING: who lists the templates of an account at WhatsApp now; it expires. */
export const templateSyncLeaseKey = (wabaId: string): string => `lw:template-sync-lease:${wabaId}`
/** ZSET campaign id → time (ms) it was created. */
export const campaignsOfAccountKey = (account: number): string => `lw:account:${account}:campaigns`
/** HASH of one business portfolio. */
export const portfolioKey = (portfolio: number): string => `lw:portfolio:${portfolio}`
/** SET of the ids of the account's portfolios. */
export const portfoliosOfAccountKey = (account: number): string => `lw:account:${account}:portfolios`
/**
 * Keys of what WhatsApp's own rules ask of a portfolio, or of a lane whose sender belongs to none; see
 * portfolios/rules.ts. All of them expire.
 */
export const rulesKeys = (lane: number, portfolio?: number) => {
  const prefix = portfolio === undefined ? `${lanePrefix(lane)}:rules` : `lw:{f${portfolio}}`
  return {
    /** STRING until when (ms) a person gets no marketing; `name`: of the person, see kernel/sealed.ts. */
    cap: (name: string) => `${prefix}:cap:${name}`,
    /** STRING that is there while anybody may be capped or anything held: without it these checks are skipped. */
    active: `${prefix}:strict`,
    /** ZSET message → until when (ms) it has a place among those that WhatsApp may hold. */
    held: `${prefix}:held`,
    /** STRING `why until` that is there while campaigns wait for a rule. */
    resting: `${prefix}:resting`,
    /** HASH: how many people were counted in the last 24 hours, and how they are kept. */
    budget: `${prefix}:budget`,
    /** STRING: how many were counted in each period of 10 s, as a ring. */
    counts: `${prefix}:counts`,
    /** HASH five bytes of a person's hash → period in which they were counted. */
    people: (bucket: string) => `${prefix}:people:${bucket}`,
  }
}
/** HASH of one sender. A sender and its lane have the same id. */
export const senderKey = (lane: number): string => `lw:sender:${lane}`
/** STRING lane id, by the digits of the sender's number. */
export const senderNumberKey = (digits: string): string => `lw:sender-number:${digits}`
/** STRING lane id, by WhatsApp's phone number id. */
export const phoneNumberIdKey = (phoneNumberId: string): string => `lw:phone-number-id:${digest(phoneNumberId)}`
/** STRING `<message id> <body hash>` of one Idempotency-Key. */
export const idempotencyKey = (account: number, route: string, key: string): string =>
  `lw:idempotency:${account}:${digest(`${route}\n${key}`)}`
/** HASH of one received message, by WhatsApp's id. */
export const inboundKey = (account: number, providerMessageId: string): string =>
  inboundKeyOf(account, digest(providerMessageId))
/** The same by the digest of the id: 27 characters of base64url. */
export const inboundKeyOf = (account: number, digested: string): string => `lw:inbound:${account}:${digested}`
/** The digest of a received message's id in its key. */
export const inboundDigest = (providerMessageId: string): string => digest(providerMessageId)

/** Prefix of everything of one lane, BullMQ's keys included. */
export const lanePrefix = (lane: number): string => `lw:{l${lane}}`
/** STREAM of events of the lane; missing while there is no listener, see message-events.lua. */
export const outboxKey = (lane: number): string => `${lanePrefix(lane)}:outbox`
/** STRING: who is about to close it; it expires. */
export const outboxClosingKey = (lane: number): string => `${outboxKey(lane)}:closing`
/** STRING `code|sentence`: there while only transactional messages of the lane leave, see portfolios/campaigns-rest.ts. */
export const campaignsRestKey = (lane: number): string => `${lanePrefix(lane)}:campaigns-rest`
/** STRING why: there while WhatsApp refuses everything of the sender, see sender-notice.lua. */
export const senderBlockedKey = (lane: number): string => `${lanePrefix(lane)}:blocked`
/** HASH of one message. `ulid` is the part of the message id that follows the lane. */
export const messageKey = (lane: number, ulid: string): string => `${lanePrefix(lane)}:m:${ulid}`
/**
 * ZSET segment → acceptance (ms) of its newest message: the index of the lane's messages. message-index.lua appends the
 * names of the segments itself.
 */
export const messageIndexKey = (lane: number): string => `${lanePrefix(lane)}:i`
/** HASH series → when the segment of it was begun that is appended to. */
export const openSegmentsKey = (lane: number): string => `${messageIndexKey(lane)}${SUFFIX.open}`
/** Of one segment of it: STRING of packed ids, and STRING of the hashes of the people they are to or from. */
export const indexSegmentKeys = (lane: number, segment: string) => {
  const ids = `${messageIndexKey(lane)}:${segment}`
  return { ids, hashes: `${ids}${SUFFIX.people}` }
}
/** ZSET ulid → time (ms) at which it is due for the sweep: sending or unconfirmed. */
export const inDoubtKey = (lane: number): string => `${lanePrefix(lane)}:open`
/** ZSET ulid → time (ms) at which the sweep must make sure that it has a job: queued again and not claimed since. */
export const queuedAgainKey = (lane: number): string => `${lanePrefix(lane)}:queued-again`
/** STRING: how often the lane was reopened because nothing left it, within a week of the last time. */
export const reopenedKey = (lane: number): string => `${lanePrefix(lane)}:reopened`
/** HASH worker → jobs that it has read and not claimed yet, see lane-next.lua. It expires. */
export const laneReadersKey = (lane: number): string => `${lanePrefix(lane)}:readers`
/** The same: HASH id of a job → how many workers died over it. It expires. */
export const jobDeathsKey = (lane: number): string => `${lanePrefix(lane)}:deaths`
/** ZSET ulid → time (ms) of the next status poll. */
export const pollKey = (lane: number): string => `${lanePrefix(lane)}:poll`
/** ZSET ulid → time (ms) at which its lease ends: status polls under way, at most 20. */
export const pollingKey = (lane: number): string => `${lanePrefix(lane)}:polling`
/** STRING: when the next status poll of the lane may leave (ms); expires at that time. */
export const nextPollKey = (lane: number): string => `${lanePrefix(lane)}:poll-rest`

/** STRING: when the cooldown of a lane ends (ms), see lanes/messages/scripts/message-cooldowns.lua. */
export const laneCooldownKey = (lane: number): string => `${lanePrefix(lane)}:rest`
/** STRING `code|sentence`: what began the cooldown of a lane; ends with it. */
export const laneCooldownReasonKey = (lane: number): string => `${laneCooldownKey(lane)}${SUFFIX.reason}`
/** STRING `ms|code|sentence` that is there while one message at a time probes the lane. */
export const laneProbeKey = (lane: number): string => `${laneCooldownKey(lane)}${SUFFIX.probe}`
/** STRING: the cooldown of one recipient of the lane; `name`: of the person, see kernel/sealed.ts. */
export const recipientCooldownKey = (lane: number, name: string): string => `${lanePrefix(lane)}:rest:${name}`

/**
 * STRING that is there while the person, who wrote to the lane's number, can be answered with any kind of message: its
 * expiry is the end of that, see lanes/messages/inbound.ts. `name` stands for the person, see kernel/sealed.ts.
 */
export const replyWindowKey = (lane: number, name: string): string => `${lanePrefix(lane)}:window:${name}`

/** LIST: the latest slots in which requests of the lane leave (µs), see lanes/messages/scripts/message-pace.lua. */
export const laneSlotsKey = (lane: number): string => `${lanePrefix(lane)}:slots`

/** STRING that is there once the lane's sender was removed, see closeLane in lanes/closed-lanes.ts: nothing is put on the lane any more. */
export const laneClosedKey = (lane: number): string => `${lanePrefix(lane)}:closed`

/** STRING: which worker clears the waiting messages of a class, see lanes/scripts/lane-clear.lua. */
export const laneClearedByKey = (lane: number, of: string): string => `${lanePrefix(lane)}:cleared-by:${of}`
/**
 * STRING that is there while a message waits before it may be claimed again: its expiry is the end of the wait. Empty, or
 * the reason that lookups show.
 */
export const messageWaitKey = (lane: number, ulid: string): string => `${lanePrefix(lane)}:wait:${ulid}`

/** Keys of one content of the gallery, by its SHA-256, as WhatsApp has it for the number of the lane. All expire. */
export const mediaUploadKeys = (lane: number, hash: string) => {
  const prefix = `${lanePrefix(lane)}:media:${hash}`
  return {
    /** STRING `renewAtMs id`: WhatsApp's id of the upload, and when to upload it anew. */
    upload: prefix,
    /** STRING: which worker uploads it at the moment. */
    lease: `${prefix}:lease`,
    /** STRING `outcome|code|sentence` that is there until it may be uploaded again. */
    backoff: `${prefix}:rest`,
    /** STRING: how often that went wrong lately. */
    failures: `${prefix}:failures`,
  }
}
/** STRING that is there while messages of a campaign wait until a file of it is uploaded. */
export const campaignFilesWaitKey = (lane: number, number: number): string =>
  `${campaignPrefix(lane)}${number}${SUFFIX.filesWait}`

/** ZSET ulid → time (ms) at which the message ended failed, unknown, expired or cancelled. */
export const requeueableKey = (lane: number): string => `${lanePrefix(lane)}:failed-messages`
/** HASH: how far a job that sends messages again is on this lane: cursor and counts. */
export const requeueProgressKey = (lane: number, job: string): string => `${lanePrefix(lane)}:requeue:${job}`
/** HASH of one job that sends messages again: what it was asked for, and whether it is done. */
export const requeueJobKey = (job: string): string => `lw:requeue:${job}`
/** ZSET job → time (ms) at which it was asked for: jobs of the account that send messages again and are not done. */
export const openRequeuesKey = (account: number): string => `lw:account:${account}:requeues`
/** HASH of one erasure of a person: whose, how far it is, and what it found. It expires. */
export const erasureKey = (job: string): string => `lw:erasure:${job}`
/** What the keys of all campaigns of a lane begin with; message-lifecycle.lua appends the campaign's number. */
export const campaignPrefix = (lane: number): string => `${lanePrefix(lane)}:campaign:`
/** ZSET `<campaign>/<place>` → turn: places of campaigns' lists whose messages wait on the lane, see lanes/places.ts. */
export const placesKey = (lane: number): string => `${lanePrefix(lane)}:places`
/** ZSET campaign → the turn of its latest place, and `now` → the turn that the lane has come to. It expires. */
export const turnsKey = (lane: number): string => `${lanePrefix(lane)}:turns`
/** HASH of one campaign. */
export const campaignKey = (lane: number, number: number): string => `${campaignPrefix(lane)}${number}`
/** HASH state letter → how many of the campaign's messages are in it. Changed in the same Lua step as the message. */
export const campaignCountsKey = (lane: number, number: number): string =>
  `${campaignPrefix(lane)}${number}${SUFFIX.counts}`
/** STRING: the state of each recipient, half a byte each, in the order of the list, see recipients/recipient-states.ts. */
export const recipientStatesKey = (lane: number, number: number): string =>
  `${campaignPrefix(lane)}${number}${SUFFIX.states}`
/** STRING: a bit for each recipient who has answered, in the order of the list, see campaigns/store/replies.ts. */
export const campaignRepliedKey = (lane: number, number: number): string => `${campaignPrefix(lane)}${number}:replied`
/** ZSET digest of a received message's id → when it was received (ms): those whose campaign is still to be found. */
export const repliesKey = (lane: number): string => `${lanePrefix(lane)}:replies`
/** HASH number → state of the lane's campaigns that a worker has to look after. */
export const activeCampaignsKey = (lane: number): string => `${lanePrefix(lane)}:campaigns-awake`
/**
 * HASH number → `epoch until reason` of the running campaigns whose job waits: until then (ms) nobody works on them.
 * `idle`: there is nothing to feed; `turn`: its account has its share of the workers' slots.
 */
export const parkedCampaignsKey = (lane: number): string => `${lanePrefix(lane)}:campaigns-parked`
/**
 * HASH place of a period → counts: history of a lane, or without one of the whole installation; `chunk` numbers the hours
 * or days since 1970. It expires.
 */
export const historyKey = (lane: number | undefined, resolution: string, chunk: number): string =>
  `${lane === undefined ? 'lw:{all}' : lanePrefix(lane)}:history:${resolution}:${chunk}`
/** STRING: how often the provider has thrown a message of the lane back for being too fast. */
export const throttledKey = (lane: number): string => `${lanePrefix(lane)}:throttled`

/** Keys of the events of one account. */
export const eventKeys = (account: number) => {
  const prefix = `lw:{e${account}}`
  return {
    /** STREAM of what happened to the account and to none of its lanes, as an outbox. */
    outbox: `${prefix}:outbox`,
    /** STRING: who is about to close it; it expires. */
    outboxClosing: `${prefix}:outbox:closing`,
    /** HASH: when events were last pulled, and since when there is no listener (ms). */
    listening: `${prefix}:listening`,
    /** ZSET endpoint id → when it was created (ms). */
    endpoints: `${prefix}:endpoints`,
    /** HASH of one endpoint. */
    endpoint: (id: string) => `${prefix}:endpoint:${id}`,
    /** HASH outbox (lane; 0: the account's) → entry up to which events were delivered, or have a retry job. */
    cursors: (id: string) => `${prefix}:endpoint:${id}:cursors`,
    /** STREAM of what the endpoint answered lately; failures have one of their own, so that successes do not drive them out. */
    attempts: (id: string, of: 'succeeded' | 'failed') => `${prefix}:endpoint:${id}:${of}`,
    /** HASH of one replay. */
    replay: (id: string) => `${prefix}:replay:${id}`,
  }
}
/**
 * ZSET id of a notice → when it happened (ms), of an account, or of the installation as account 0.
 * notice-keep.lua makes those of `noticeKeys` from it, and of each kind a STRING that counts those of the minute.
 */
export const noticesKey = (account: number): string => `lw:{e${account}}:notices`
/** What else is kept of notices. */
export const noticeKeys = (account: number) => {
  const index = noticesKey(account)
  return {
    /** HASH id → notice. */
    texts: `${index}${SUFFIX.texts}`,
    /** ZSET kind → how many of it are kept. */
    kinds: `${index}${SUFFIX.kinds}`,
    /** ZSET as the one of all, of one kind. */
    ofKind: (kind: string) => `${index}${SUFFIX.ofKind}${kind}`,
    /** HASH kind → how many came too fast to be kept. */
    missed: `${index}${SUFFIX.missed}`,
  }
}
/** Prefix of BullMQ's keys of an endpoint's queue. */
export const endpointQueuePrefix = (endpoint: string): string => `lw:{${endpoint}}`

/** Prefix of BullMQ's keys of the queues that belong to no lane. */
export const sharedQueuePrefix = (queue: string): string => `lw:{${queue}}`
/** Keys of one account's gallery. */
export const galleryKeys = (account: number) => {
  const prefix = `lw:{g${account}}`
  return {
    prefix,
    /** ZSET of folder ids by id. */
    folders: `${prefix}:folders`,
    /** HASH of one folder. */
    folder: (id: number) => `${prefix}${SUFFIX.folder}${id}`,
    /** ZSET of the active files of a folder, by id. */
    filesIn: (folder: number) => `${prefix}${SUFFIX.folder}${folder}${SUFFIX.files}`,
    /** HASH of one file. */
    file: (id: number) => `${prefix}${SUFFIX.file}${id}`,
    /** ZSET of files in the trash, by id. */
    trash: `${prefix}:trash`,
    /** STRING: bytes of all files, those in the trash too, see gallery/files.ts. */
    bytes: `${prefix}:bytes`,
    /** STRING: id of the folder that received media go into. */
    receivedFolder: `${prefix}:received-folder`,
    /** ZSET `<HMAC of the person>/<file id>`, all with score 0: files that people have sent, for their erasure. */
    received: `${prefix}:received`,
    /** ZSET token of a file that is being added → since when (ms), see gallery/files.ts. */
    newTokens: `${prefix}:new-tokens`,
    /** HASH of one bulk move: state and outcome. */
    move: (id: string) => `${prefix}:move:${id}`,
  }
}
/**
 * What is still to be fetched of received messages, see gallery/received-media.ts. The scripts append an account's number
 * to `due` and `tries`.
 */
export const receivedMediaKeys = {
  /** ZSET account → when (ms) something of it is due. */
  accounts: 'lw:{received-media}:accounts',
  /** ZSET `<lane>/<digest of the message's id>` → when (ms) it is due. It expires. */
  due: 'lw:{received-media}:due:',
  /** HASH the same → how often it was tried, and with `file ` before it the id its file gets. It expires. */
  tries: 'lw:{received-media}:tries:',
  /** STRING: a full gallery of the account was reported today. */
  told: (account: number) => `lw:{received-media}:told:${account}`,
}

/** STRING `<account> <file id>`, by the token in the file's public URL. */
export const fileTokenKey = (token: string): string => `lw:file-token:${digest(token)}`

/** STRING that is there while this content is being removed, for a minute at most. */
export const contentRemovalKey = (hash: string): string => `lw:content-removal:${hash}`

/** Keys of one account's contacts. */
export const contactKeys = (account: number) => {
  const prefix = `lw:{c${account}}`
  return {
    prefix,
    /** HASH case-folded tag name → tag id. */
    tagNames: `${prefix}:tag-names`,
    /** HASH of one tag. */
    tag: (id: number) => `${prefix}${SUFFIX.tag}${id}`,
    /** ZSET contact id → membership id: members in the order they joined. */
    members: (tag: number) => `${prefix}${SUFFIX.tag}${tag}${SUFFIX.members}`,
    /** HASH of one contact. */
    contact: (id: number) => `${prefix}${SUFFIX.contact}${id}`,
    /** HASH phone digits → contact id. */
    phones: `${prefix}:phones`,
    /** ZSET HMAC of a person who was erased → when (ms), see people/tombstones.ts. It expires. */
    tombstones: `${prefix}:erased`,
    /** ZSET person → since when they want no advertising (ms), see people/opt-outs/opt-outs.ts. */
    optOuts: `${prefix}:opt-outs`,
    /** ZSET HMAC of a person who was erased → since when they want no advertising (ms), see people/opt-outs/erased.ts. */
    erasedOptOuts: `${prefix}:erased-opt-outs`,
    /** HASH person, or the HMAC of one who was erased → who said so, and when (JSON). */
    optOutSources: `${prefix}:opt-out-sources`,
    /** ZSET person, or the HMAC of one who was erased → when they wanted it again (ms). It expires. */
    optOutEnds: `${prefix}:opt-out-ends`,
    /** HASH: how many names are kept of people who have several, see people/names/names.ts. It expires. */
    names: `${prefix}:names`,
    /** HASH digest of a name → the other names of the person, see names-buckets.lua. It expires. */
    namesIn: (bucket: string) => `${prefix}:names:${bucket}`,
  }
}

/** STRING: requests of a key, of an account or from an address in this second: see producer/rate-limits.ts. */
export const rateKey = (of: 'key' | 'account' | 'address', who: string): string => `lw:{rates}:${of}:${who}`
/** ZSET campaign id → when it was created (ms): campaigns of the account that were not started at the last check. */
export const draftsOfAccountKey = (account: number): string => `lw:account:${account}:drafts`
/** HASH campaign id → bytes of its rows, and `total`, see campaigns/store/rows-quota.ts. */
export const rowsOfAccountKey = (account: number): string => `lw:account:${account}:rows`
