// campaigns: one template to many people.
import { z } from 'zod'
import {
  type CampaignDescription,
  campaignDocumentSchema,
  type RunPlan,
  runPlanSchema,
} from '../campaigns/commands/campaign-document.ts'
import { readAsSentence } from '../files/csv-head.ts'
import { counted } from '../kernel/fault.ts'
import { isBeforeStart } from '../model/campaigns/lifecycle.ts'
import { campaigns } from '../producer/api/campaigns/routes.ts'
import { readAsSchema } from '../producer/api/fields.ts'
import { campaignSummary, campaignWatch, planText } from './campaign-summary.ts'
import { CliFailure } from './failure.ts'
import { type Question, type RouteVerb, routeVerb } from './route-verb.ts'

const ID = 'cmp_1_7'

const text = (data: unknown): string => campaignSummary(campaignDocumentSchema.parse(data))
const stateOf = (data: unknown): string => z.looseObject({ state: z.string() }).parse(data).state

/** A column of a campaign. */
const cell =
  (show: (campaign: CampaignDescription) => string | number) =>
  (row: unknown): string =>
    String(show(campaignDocumentSchema.parse(row)))

/**
 * Asked before a run again, with whom it reaches and whom it skips. A script is asked for a second run of a class alone: that one sends
 * to everybody of the class again.
 */
const RUN_QUESTION: Question = {
  sentence({ params: { id }, body: { class: only, dry_run: isDry } }, shown, isPerson) {
    if (only === undefined || isDry === true) return undefined
    const plan = runPlanSchema.safeParse(shown).data
    // Of another release: who may get it twice cannot be told, so a person has to say.
    if (plan === undefined) return `Everybody of the class ${String(only)} gets a message, whoever had one before`
    if (plan.recipients === 0 && plan.complete) throw new CliFailure(`${planText(plan)}: nothing was sent.`)
    if (plan.earlier === null) return isPerson ? planText(plan) : undefined
    const which = plan.class.replace('_', ' ')
    return (
      `${plan.earlier} was made for the ${which} recipients of ${id} already, ` +
      `and another one sends to all of them again: ${planText(plan)}`
    )
  },
  declined: 'Nothing was sent.',
  otherwise: ({ earlier }) =>
    `Resume ${String(earlier)} with a class for those it did not reach, or confirm with --yes.`,
  spared: 'before a class is sent to',
}

const uploaded = z.looseObject({ id: z.string(), rows: z.number(), read_as: readAsSchema.optional() })
const resumed = z.union([runPlanSchema, campaignDocumentSchema])
const isPlan = (data: z.output<typeof resumed>): data is RunPlan => 'matched' in data

export const verbs: readonly RouteVerb[] = [
  routeVerb('campaigns', 'create', campaigns.create, {
    reads: 'body',
    fields: [],
    text,
    example: 'spring.json --account 1',
  }),
  routeVerb('campaigns', 'list', campaigns.list, {
    example: '--state running,paused',
    columns: ['id', 'name', 'state', 'sender', 'template', 'recipients', 'queued', 'failed'],
    cells: {
      template: cell(({ template }) => template.name),
      recipients: cell(({ progress }) => progress.total),
      // Before the start nobody is in a queue.
      queued: cell(({ state, progress }) => (isBeforeStart(state) ? '-' : progress.queued)),
      failed: cell(({ progress }) => progress.failed + progress.unknown),
    },
    none: 'There is no campaign.',
  }),
  routeVerb('campaigns', 'show', campaigns.show, { text, example: ID }),
  routeVerb('campaigns', 'show', campaigns.show, {
    verb: 'watch',
    summary: 'follow a campaign until it is done, paused or cancelled',
    text,
    follows: {
      by: campaigns.show,
      isOver: (data) => !['checking', 'scheduled', 'running'].includes(stateOf(data)),
      watch: campaignWatch,
    },
    example: ID,
  }),
  routeVerb('campaigns', 'preflight', campaigns.preflight, {
    summary: 'count, check and freeze the recipients; report all problems',
    text,
    follows: { by: campaigns.show, isOver: (data) => stateOf(data) !== 'checking' },
    example: ID,
  }),
  routeVerb('campaigns', 'schedule', campaigns.schedule, {
    arguments: ['at'],
    words: { at: 'time' },
    text,
    example: `${ID} 2126-03-01T12:00:00Z`,
  }),
  routeVerb('campaigns', 'start', campaigns.start, { text, example: ID }),
  routeVerb('campaigns', 'pause', campaigns.pause, { text, example: `${ID} --reason "wrong price"` }),
  routeVerb('campaigns', 'resume', campaigns.resume, {
    text(data) {
      const shown = resumed.parse(data)
      return isPlan(shown) ? `${planText(shown)}. Nothing was sent.` : campaignSummary(shown)
    },
    about: ({ class: only, dry_run: isDry }) =>
      only === undefined || isDry === true
        ? undefined
        : { spec: campaigns.resume, body: { class: only, dry_run: true } },
    asks: RUN_QUESTION,
    example: `${ID} --class failed`,
  }),
  routeVerb('campaigns', 'cancel', campaigns.cancel, { text, example: ID }),
  routeVerb('campaigns', 'rows', campaigns.rows, {
    verb: 'upload',
    example: `${ID} people.csv`,
    text(data) {
      const { id, rows, read_as: readAs } = uploaded.parse(data)
      const next = `Uploaded ${counted(rows, 'row')} to ${id}. Next: \`campaigns preflight ${id}\`.`
      return [next, ...(readAs === undefined ? [] : [readAsSentence(readAs)])].join('\n')
    },
  }),
  routeVerb('campaigns', 'export', campaigns.export, { writes: 'file', example: `${ID} outcome.csv` }),
  routeVerb('campaigns', 'refused', campaigns.refused, { writes: 'file', example: `${ID} refused.csv` }),
]
