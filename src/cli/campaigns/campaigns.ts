// campaigns: create, list, show, and all that the files beside this one do.
import { z } from 'zod'
import { CAMPAIGN_STATES, isBeforeStart } from '../../campaigns/campaign.ts'
import { defineCampaign } from '../../campaigns/commands/create.ts'
import { describeCampaigns } from '../../campaigns/commands/describe.ts'
import { existingAccount } from '../accounts.ts'
import { CliFailure } from '../failure.ts'
import { table } from '../table.ts'
import { jsonPath, readJson, shownFile } from '../typed-file.ts'
import { accountId, someOf } from '../values.ts'
import { type CommandContext, type Noun, verb } from '../verb.ts'
import { campaignArgument, shown, withLifecycle } from './campaign-context.ts'
import { fileVerbs } from './files.ts'
import { lifecycleVerbs } from './lifecycle.ts'
import { watchVerb } from './watch.ts'

/** The latest ones; whoever wants older ones asks the interface. */
const LISTED = 50

export const campaigns: Noun = {
  name: 'campaigns',
  summary: 'one template to many people',
  verbs: [
    verb({
      usage: 'create <file>',
      summary: 'create a draft from a JSON file (- for standard input), the same as the body of POST /campaigns',
      act: 'campaign.create',
      example: 'spring.json --account 1',
      options: { '!--account <id>': 'account that owns it' },
      values: z.strictObject({ file: jsonPath, account: accountId }),
      run: async ({ file, account }, context) => {
        await existingAccount(context.redis, account)
        const body = await readBody(file, context)
        const id = await withLifecycle(context, (deps) =>
          defineCampaign(deps, { account, body, idempotencyKey: undefined }),
        )
        return shown(context.redis, id)
      },
    }),
    verb({
      usage: 'list',
      summary: `list the ${LISTED} latest campaigns`,
      example: '--account 1',
      options: {
        '!--account <id>': 'account that owns them',
        '--state <list>': `only those in one of these states, separated by commas: ${CAMPAIGN_STATES.join(', ')}`,
      },
      values: z.strictObject({ account: accountId, state: someOf(CAMPAIGN_STATES).optional() }),
      run: async ({ account, state: states }, { redis }) => {
        await existingAccount(redis, account)
        const json = await describeCampaigns(redis, account, { offset: 0, limit: LISTED, states })
        const rows = json.map(({ id, name, state, sender, template, progress }) => [
          ...[id, name ?? '', state, sender ?? '', template.name],
          String(progress.total),
          // Before the start nobody is in a queue.
          isBeforeStart(state) ? '-' : String(progress.queued),
          String(progress.failed + progress.unknown),
        ])
        const headings = ['CAMPAIGN', 'NAME', 'STATE', 'SENDER', 'TEMPLATE', 'RECIPIENTS', 'QUEUED', 'FAILED']
        return {
          json,
          text:
            json.length === 0
              ? `There is no campaign ${states === undefined ? 'yet' : `that is ${states.join(' or ')}`}.`
              : table(headings, rows),
        }
      },
    }),
    verb({
      usage: 'show <id>',
      summary: 'show a campaign and its progress',
      example: 'cmp_1_7',
      options: {},
      values: z.strictObject({ id: campaignArgument }),
      run: ({ id }, { redis }) => shown(redis, id),
    }),
    watchVerb,
    ...lifecycleVerbs,
    ...fileVerbs,
  ],
}

async function readBody(file: string, { stdin }: CommandContext): Promise<Record<string, unknown>> {
  const body = z.record(z.string(), z.unknown()).safeParse(await readJson(file, stdin))
  if (body.success) return body.data
  throw new CliFailure(`${shownFile(file)}: expected a JSON object, got something else.`)
}
