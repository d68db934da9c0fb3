// Campaigns: one template to many people.
import { z } from 'zod'
import { campaignDocumentSchema, runPlanSchema } from '../../../campaigns/commands/campaign-document.ts'
import { textUpTo } from '../../../kernel/bounded.ts'
import { notOneOf } from '../../../kernel/fault.ts'
import { instantSchema } from '../../../kernel/instant.ts'
import { definitionSchema, RESUME_CLASSES } from '../../../model/campaigns/definition.ts'
import { EXPORT_FORMATS } from '../../../model/campaigns/file-formats.ts'
import { CAMPAIGN_STATES } from '../../../model/campaigns/lifecycle.ts'
import { made, one, page } from '../answers.ts'
import { orNothing, routesOf } from '../define.ts'
import { count, csvOptionFields, IMPORT_MAX_BYTES, offsetPageFields, pauseFields, readAsSchema } from '../fields.ts'
import { saleComponents } from '../sending/examples.ts'

/** Figures that add up. */
const progressOf = (counts: { total?: number; queued?: number; sending?: number; sent?: number }, perSecond = 0) => ({
  ...{ total: 0, queued: 0, sending: 0, unconfirmed: 0, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0 },
  ...{ cancelled: 0, unknown: 0, delivered_total: 0, replied: 0, capped: 0, held: 0 },
  ...counts,
  rate_per_second: perSecond,
  held_to: null,
  seconds_left: perSecond === 0 ? null : 1,
})

/** A campaign that runs, whose figures agree. */
const exampleCampaign = {
  id: 'cmp_2_1',
  name: 'Spring sale',
  state: 'running',
  reason: null,
  waits: null,
  sender: '447700900002',
  template: {
    name: 'flash_sale',
    language: 'en_US',
    components: saleComponents({ from: 'contact.name' }),
  },
  recipients: { tags: [1, 2], except: [] },
  has_rows: false,
  created_at: '2026-11-20T14:35:15.361Z',
  scheduled_at: null,
  started_at: '2026-11-20T14:35:17.914Z',
  ended_at: null,
  valid_until: null,
  retry_capped: { times: 0 },
  marketing_route: null,
  preflight: {
    checked_at: '2026-11-20T14:35:16.557Z',
    recipients: 4,
    refused: { duplicate: 2, number: 0, parameter: 0, unreadable: 0, opted_out: 0 },
    excluded: 0,
    skipped_capped: 0,
    skipped_erased: 0,
    problems: [],
    warnings: [],
    files: [],
    rate: 80,
    would_expire: 0,
    seconds: 1,
    days: 1,
    people: null,
    estimated_end: '2026-11-20T14:35:21.046Z',
  },
  progress: progressOf({ total: 4, queued: 1, sending: 1, sent: 2 }, 80),
}

/** The same when it was created. */
const exampleDraft = {
  ...exampleCampaign,
  ...{ state: 'draft', started_at: null, preflight: undefined, progress: progressOf({}) },
}

/** The same once it was checked. */
const exampleReady = { ...exampleCampaign, state: 'ready', started_at: null, progress: progressOf({}) }

/** The same as a list has it. */
const listedExample = { ...exampleCampaign, template: { name: 'flash_sale', language: 'en_US' } }

const { id } = exampleCampaign
const shared = { params: z.object({ id: z.string() }), shown: { id } }
/** A campaign names its account, so that an operator need not. */
const look = routesOf({ ...shared, access: { in: 'bearer', permission: 'messages:read', withoutAccount: true } })
const change = routesOf({ ...shared, access: { in: 'bearer', permission: 'messages:send', withoutAccount: true } })

const scheduleBody = z.strictObject({ at: instantSchema.refine((at) => at > Date.now(), 'must be in the future') })
const resumeBody = z
  .strictObject({
    class: z.enum(RESUME_CLASSES).optional(),
    dry_run: z
      .boolean()
      .default(false)
      .describe('Only reports whom a run for the class would reach, whom it skips, and why.'),
  })
  .refine(({ class: only, dry_run }) => only !== undefined || !dry_run, {
    path: ['class'],
    error: 'required with dry_run',
  })
const listQuery = z.strictObject({
  ...offsetPageFields,
  state: textUpTo(200)
    .transform((text, context) =>
      text.split(',').flatMap((word) => {
        const known = CAMPAIGN_STATES.find((state) => state === word.trim())
        if (known === undefined) context.addIssue(notOneOf(CAMPAIGN_STATES, word.trim()))
        return known ?? []
      }),
    )
    .optional()
    .describe(`One or several of ${CAMPAIGN_STATES.join(', ')}, separated by commas.`),
})

const rowsUploaded = z.strictObject({
  id: z.string(),
  rows: count,
  read_as: readAsSchema.optional().describe('Of CSV.'),
})

/** Every change answers with the campaign as it is afterwards. */
const answers = one(campaignDocumentSchema)
const wrongState = { 422: ['wrong_state'] } as const
const toStart = { ...wrongState, 400: ['template_not_approved', 'template_changed'] } as const

export const campaigns = {
  create: change.post('/campaigns', 'Creates a draft.', {
    access: { in: 'bearer', permission: 'messages:send' },
    mcp: 'draft',
    act: 'campaign.create',
    takesRoom: true,
    idempotent: true,
    body: { as: 'json', schema: definitionSchema, readBy: 'handler' },
    answers: made(campaignDocumentSchema),
    errors: { 400: ['unknown_sender', 'not_supported_by_provider'], 409: ['too_many_drafts'] },
    examples: [
      {
        body: {
          name: 'Spring sale',
          sender: '447700900002',
          template: {
            name: 'flash_sale',
            language: { code: 'en_US' },
            components: saleComponents({ from: 'contact.name' }),
          },
          recipients: { tags: [1, 2] },
        },
        says: 'created',
        data: exampleDraft,
      },
    ],
  }),
  list: look.get(
    '/campaigns',
    'Lists campaigns, the latest first; for an operator that names no account, those of all.',
    {
      mcp: 'read',
      query: listQuery,
      answers: page(campaignDocumentSchema),
      examples: [{ query: { state: 'running,paused' }, data: [listedExample] }],
    },
  ),
  show: look.get('/campaigns/:id', 'Shows a campaign with its progress.', {
    mcp: 'read',
    answers,
    examples: [{ says: 'campaign', data: exampleCampaign }],
  }),
  preflight: change.post('/campaigns/:id/preflight', 'Counts, checks and freezes the recipients, in the background.', {
    mcp: 'draft',
    act: 'campaign.preflight',
    takesRoom: true,
    answers,
    errors: { ...wrongState, 400: ['no_rows'] },
    examples: [{ says: 'checking', data: { ...exampleDraft, state: 'checking' } }],
  }),
  schedule: change.post('/campaigns/:id/schedule', 'Starts the campaign at a given time.', {
    act: 'campaign.schedule',
    body: orNothing(scheduleBody),
    answers,
    errors: toStart,
    examples: [
      {
        body: { at: '2126-11-22T09:00:00Z' },
        says: 'scheduled',
        data: { ...exampleReady, state: 'scheduled', scheduled_at: '2126-11-22T09:00:00.000Z' },
      },
    ],
  }),
  start: change.post('/campaigns/:id/start', 'Starts the campaign now.', {
    act: 'campaign.start',
    takesRoom: true,
    answers,
    errors: toStart,
    examples: [{ says: 'started', data: exampleCampaign }],
  }),
  pause: change.post('/campaigns/:id/pause', 'Pauses the campaign: nothing more is sent until it is resumed.', {
    act: 'campaign.pause',
    body: orNothing(pauseFields),
    answers,
    errors: wrongState,
    examples: [
      {
        body: { reason: 'a typo' },
        says: 'paused',
        data: {
          ...exampleCampaign,
          ...{ state: 'paused', reason: 'a typo', progress: progressOf({ total: 4, queued: 2, sent: 2 }) },
        },
      },
    ],
  }),
  cancel: change.post('/campaigns/:id/cancel', 'Cancels the campaign: nothing more of it is ever sent.', {
    act: 'campaign.cancel',
    answers,
    errors: wrongState,
    examples: [
      {
        says: 'cancelled',
        data: {
          ...exampleCampaign,
          ...{ state: 'cancelled', ended_at: '2026-11-20T14:35:18.331Z' },
          progress: { ...progressOf({ total: 4, sent: 2 }), cancelled: 2 },
        },
      },
    ],
  }),
  resume: change.post(
    '/campaigns/:id/resume',
    'Resumes the campaign; with a class, starts a new one for those recipients.',
    {
      act: 'campaign.resume',
      idempotent: true,
      body: orNothing(resumeBody),
      answers: one(z.union([campaignDocumentSchema, runPlanSchema])),
      errors: { 400: [...toStart[400], 'unknown_sender'], 422: ['wrong_state', 'nobody_in_class'] },
      examples: [
        {
          name: 'Whom a run for those that failed would reach',
          body: { class: 'failed', dry_run: true },
          says: 'nothing was sent',
          data: {
            ...{ class: 'failed', matched: 3, complete: true, recipients: 1 },
            refused: { duplicate: 0, number: 0, parameter: 0, unreadable: 0, opted_out: 1 },
            ...{ skipped_capped: 1, skipped_erased: 0, problems: [], earlier: null },
          },
        },
        {
          name: 'A new campaign for them',
          body: { class: 'failed' },
          says: 'resumed',
          data: {
            ...exampleCampaign,
            ...{ id: 'cmp_2_2', name: 'Spring sale (run 2)', state: 'checking', started_at: null },
            recipients: { campaign: id, class: 'failed', offer: 'contact', first: id },
            preflight: undefined,
            progress: progressOf({}),
          },
        },
        { name: 'The same campaign goes on', body: {}, says: 'resumed', data: exampleCampaign },
      ],
    },
  ),
  rows: change.post('/campaigns/:id/rows', 'Uploads the recipients of a campaign, one per row.', {
    act: 'campaign.upload_rows',
    takesRoom: true,
    query: z.strictObject(csvOptionFields),
    body: {
      as: 'stream',
      contentTypes: ['text/csv', 'application/x-ndjson'],
      limit: IMPORT_MAX_BYTES,
      schema: z.string(),
    },
    answers: one(rowsUploaded),
    errors: { ...wrongState, 400: ['invalid_request', 'no_rows_expected'], 409: ['rows_replaced', 'rows_full'] },
    examples: [
      {
        headers: { 'Content-Type': 'text/csv' },
        text: 'phone,name\n+44 7700 900123,Ada\n+44 7700 900124,Ben\n',
        says: 'rows uploaded',
        data: { id, rows: 2, read_as: { encoding: 'utf-8', separator: ',', columns: ['phone', 'name'] } },
      },
    ],
  }),
  export: look.get('/campaigns/:id/export', 'Exports the outcome for every recipient, as a file.', {
    query: z.strictObject({ format: z.enum(EXPORT_FORMATS).default('csv') }),
    answers: { 200: { contentTypes: ['text/csv', 'application/x-ndjson'] } },
    examples: [{ query: { format: 'ndjson' } }],
  }),
  refused: look.get(
    '/campaigns/:id/refused',
    'Exports the recipients that the preflight refused, with reasons, as CSV.',
    {
      answers: { 200: { contentTypes: ['text/csv'] } },
    },
  ),
}
