// campaigns: create, list, show, and all that the files beside this one do.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { defineCampaign } from '../../campaigns/commands/create.ts'
import { describeCampaigns } from '../../campaigns/commands/describe.ts'
import { CAMPAIGN_STATES, isBeforeStart } from '../../campaigns/states.ts'
import { existingAccount } from '../accounts.ts'
import { CliFailure, fileFailure } from '../failure.ts'
import { table } from '../table.ts'
import { accountId, someOf } from '../values.ts'
import { type Noun, verb } from '../verb.ts'
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
      summary: 'create a draft from a JSON file, the same as the body of POST /campaigns',
      act: 'campaign.create',
      example: 'spring.json --account 1',
      options: { '!--account <id>': 'account that owns it' },
      values: z.strictObject({ file: z.string().transform((file) => resolve(file)), account: accountId }),
      run: async ({ file, account }, context) => {
        await existingAccount(context.redis, account)
        const body = await readJson(file)
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

async function readJson(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw fileFailure(file, error)
  })
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text))
  } catch {
    throw new CliFailure(`The file ${file} is not a JSON object.`)
  }
}
