// What was given for a campaign and brings no message: most often the name of one, which is found by its id.
import { z } from 'zod'
import { quoted } from '../kernel/fault.ts'
import { campaigns } from '../producer/api/campaigns/routes.ts'
import { ApiError } from '../producer/errors.ts'
import type { Asked, Door } from './doors.ts'
import { CliFailure } from './failure.ts'

/** So many of the latest are looked through. */
const LATEST = 1_000
/** Ids that the sentence names. */
const NAMED = 3

const listed = z.looseObject({ data: z.array(z.looseObject({ id: z.string(), name: z.string().nullish() })) })

/**
 * The sentence for a filter by a `campaign_id` that no message has; undefined for any other. Throws a CliFailure when campaigns are called
 * so, for the text was meant as a name, and for the id of a campaign that does not exist.
 */
export async function noneOfCampaign({ account, query, body }: Asked, door: Door): Promise<string | undefined> {
  const id = query.campaign ?? body.campaign
  if (typeof id === 'string') await assertCampaign(id, account, door)
  const text = query.campaign_id ?? body.campaign_id
  if (typeof text !== 'string') return undefined
  const none = `No message has the campaign_id ${quoted(text)}`
  const asked = { account, params: {}, query: { limit: String(LATEST) }, headers: {}, body: {} }
  const came = await door({ family: 'campaigns', spec: campaigns.list }, asked)
  const all = listed.safeParse('json' in came ? came.json : undefined).data?.data ?? []
  const ids = all.filter(({ name }) => name === text).map(({ id }) => id)
  if (ids.length === 0) return `${none}. The messages of a campaign are found by its id, see \`campaigns list\`.`
  throw new CliFailure(`${none}; it is the name of ${ids.slice(0, NAMED).join(', ')}: name the campaign by its id.`)
}

async function assertCampaign(id: string, account: string | undefined, door: Door): Promise<void> {
  const asked = { account, params: { id }, query: {}, headers: {}, body: {} }
  await door({ family: 'campaigns', spec: campaigns.show }, asked).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) {
      throw new CliFailure(`There is no campaign ${id}; see \`campaigns list\`.`)
    }
    throw error
  })
}
