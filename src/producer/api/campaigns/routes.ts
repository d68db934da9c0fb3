// Campaigns: many people, one template. What creates one takes the header Idempotency-Key.
import { z } from 'zod'
import { campaignDocumentSchema } from '../../../campaigns/commands/campaign-document.ts'
import { definitionSchema, RESUME_CLASSES } from '../../../campaigns/definition.ts'
import { EXPORT_FORMATS } from '../../../campaigns/file-formats.ts'
import { CAMPAIGN_STATES } from '../../../campaigns/states.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { notOneOf } from '../../../messages/fault.ts'
import { instantSchema } from '../../../messages/instant.ts'
import { route } from '../../route.ts'
import { doneWith, listOf } from '../answers.ts'
import { csvSaidFields, readAsSchema } from '../csv-import.ts'
import { idempotencyHeaders, noFields, offsetPageFields, pauseFields } from '../fields.ts'
import { saleComponents } from '../sending/example-messages.ts'
import { exampleCampaign } from './example.ts'

const mayChange = { in: 'bearer', permission: 'messages:send' } as const
const mayLook = { in: 'bearer', permission: 'messages:read' } as const

/** Some ten million rows; they go to disk as they come. */
export const ROWS_MAX_BYTES = 1024 ** 3

const scheduleBody = z.strictObject({ at: instantSchema.refine((at) => at > Date.now(), 'must be in the future') })
const resumeBody = z.strictObject({ class: z.enum(RESUME_CLASSES).optional() })
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

const params = z.object({ id: z.string() })
const answers = { 200: doneWith(campaignDocumentSchema) }
const isHere = { 404: ['not_found'] } as const
const fitsState = { ...isHere, 422: ['wrong_state'] } as const

const rowsUploaded = z.strictObject({
  id: z.string(),
  rows: z.int().nonnegative(),
  read_as: readAsSchema.optional().describe('Of CSV.'),
})

const id = exampleCampaign.id
const shown = (message: string, state: string) => ({
  status: 200,
  answer: { status: true, message, data: { ...exampleCampaign, state } },
})

export const campaigns = {
  create: route({
    method: 'post',
    path: '/campaigns',
    summary: 'Creates a draft.',
    access: mayChange,
    act: 'campaign.create',
    takesRoom: true,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: definitionSchema, readBy: 'handler' },
    answers: { 201: doneWith(campaignDocumentSchema) },
    errors: { 400: ['unknown_sender'], 409: ['too_many_drafts'], 422: ['idempotency_key_reused'] },
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
        status: 201,
        answer: { status: true, message: 'created', data: { ...exampleCampaign, state: 'draft' } },
      },
    ],
  }),
  list: route({
    method: 'get',
    path: '/campaigns',
    summary: 'Lists the account’s campaigns, the latest first.',
    access: mayLook,
    query: listQuery,
    body: { as: 'ignored' },
    answers: { 200: listOf(campaignDocumentSchema) },
    examples: [
      {
        query: { state: 'running,paused' },
        status: 200,
        answer: { status: true, data: [exampleCampaign], next: null },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/campaigns/:id',
    summary: 'Shows a campaign with its progress.',
    access: mayLook,
    params,
    body: { as: 'ignored' },
    answers,
    errors: isHere,
    examples: [{ params: { id }, ...shown('campaign', 'running') }],
  }),
  preflight: route({
    method: 'post',
    path: '/campaigns/:id/preflight',
    summary: 'Counts, checks and freezes the recipients, in the background.',
    access: mayChange,
    act: 'campaign.preflight',
    takesRoom: true,
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers,
    errors: { ...fitsState, 400: ['no_rows'] },
    examples: [{ params: { id }, ...shown('checking', 'checking') }],
  }),
  schedule: route({
    method: 'post',
    path: '/campaigns/:id/schedule',
    summary: 'Starts the campaign at a time.',
    access: mayChange,
    act: 'campaign.schedule',
    params,
    body: { as: 'json', schema: scheduleBody, mayBeAbsent: true },
    answers,
    errors: { ...fitsState, 400: ['template_not_approved', 'template_changed'] },
    examples: [{ params: { id }, body: { at: '2126-11-22T09:00:00Z' }, ...shown('scheduled', 'scheduled') }],
  }),
  start: route({
    method: 'post',
    path: '/campaigns/:id/start',
    summary: 'Starts the campaign now.',
    access: mayChange,
    act: 'campaign.start',
    takesRoom: true,
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers,
    errors: { ...fitsState, 400: ['template_not_approved', 'template_changed'] },
    examples: [{ params: { id }, ...shown('started', 'running') }],
  }),
  pause: route({
    method: 'post',
    path: '/campaigns/:id/pause',
    summary: 'Lets nothing more of the campaign be sent until it is resumed.',
    access: mayChange,
    act: 'campaign.pause',
    params,
    body: { as: 'json', schema: pauseFields, mayBeAbsent: true },
    answers,
    errors: fitsState,
    examples: [{ params: { id }, body: { reason: 'a typo' }, ...shown('paused', 'paused') }],
  }),
  cancel: route({
    method: 'post',
    path: '/campaigns/:id/cancel',
    summary: 'Cancels the campaign: nothing more of it is ever sent.',
    access: mayChange,
    act: 'campaign.cancel',
    params,
    body: { as: 'json', schema: noFields, mayBeAbsent: true },
    answers,
    errors: fitsState,
    examples: [{ params: { id }, ...shown('cancelled', 'cancelled') }],
  }),
  resume: route({
    method: 'post',
    path: '/campaigns/:id/resume',
    summary: 'Goes on; with a class, makes and starts a new campaign for those recipients.',
    access: mayChange,
    act: 'campaign.resume',
    params,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: resumeBody, mayBeAbsent: true },
    answers,
    errors: {
      ...isHere,
      400: ['template_not_approved', 'template_changed', 'unknown_sender'],
      422: ['wrong_state', 'nobody_in_class', 'idempotency_key_reused'],
    },
    examples: [
      {
        name: 'Those that were cancelled',
        params: { id },
        body: { class: 'cancelled' },
        ...shown('resumed', 'running'),
      },
      { name: 'The same campaign', params: { id }, body: {}, ...shown('resumed', 'running') },
    ],
  }),
  rows: route({
    method: 'post',
    path: '/campaigns/:id/rows',
    summary: 'Uploads the recipients of a campaign, a row each.',
    access: mayChange,
    act: 'campaign.upload_rows',
    takesRoom: true,
    params,
    query: z.strictObject(csvSaidFields),
    body: {
      as: 'stream',
      contentTypes: ['text/csv', 'application/x-ndjson'],
      limit: ROWS_MAX_BYTES,
      schema: z.string(),
    },
    answers: { 200: doneWith(rowsUploaded) },
    errors: { ...fitsState, 400: ['invalid_request', 'no_rows_expected'], 409: ['rows_replaced', 'rows_full'] },
    examples: [
      {
        params: { id },
        headers: { 'Content-Type': 'text/csv' },
        text: 'phone,name\n+44 7700 900123,Ada\n+44 7700 900124,Ben\n',
        status: 200,
        answer: {
          status: true,
          message: 'rows uploaded',
          data: { id, rows: 2, read_as: { encoding: 'utf-8', separator: ',', columns: ['phone', 'name'] } },
        },
      },
    ],
  }),
  export: route({
    method: 'get',
    path: '/campaigns/:id/export',
    summary: 'Tells what became of every recipient, as a file.',
    access: mayLook,
    params,
    query: z.strictObject({ format: z.enum(EXPORT_FORMATS).default('csv') }),
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/csv', 'application/x-ndjson'] } },
    errors: isHere,
    examples: [{ params: { id }, query: { format: 'ndjson' }, status: 200 }],
  }),
  refused: route({
    method: 'get',
    path: '/campaigns/:id/refused',
    summary: 'Tells whom the preflight left out and why, as CSV.',
    access: mayLook,
    params,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/csv'] } },
    errors: isHere,
    examples: [{ params: { id }, status: 200 }],
  }),
}
