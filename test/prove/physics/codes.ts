// The codes of a world: transactional templates by another number of the portfolio, each to somebody else, at their own
// pace while the campaign runs. Who asks for one waits for it.
import { z } from 'zod'
import { postJson } from '../http.ts'
import type { Rig } from '../rig.ts'
import { pause } from '../wait.ts'
import { type Business, CODE_TEMPLATE, OTHER_NUMBER } from './business.ts'

/** A code that was accepted. */
export interface Code {
  to: string
  id: string
  /** Epoch ms at which it was asked for. */
  askedMs: number
}

const acknowledgement = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })

/** Asks for all codes of a world, one after the other. */
export async function sendCodes(rig: Rig, { world, tenant }: Business, people: readonly string[]): Promise<Code[]> {
  const codes: Code[] = []
  for (const to of people) {
    const askedMs = Date.now()
    const body = {
      ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', to: `+${to}` },
      ...{ type: 'template', template: { name: CODE_TEMPLATE, language: { code: 'en_US' } }, sender: OTHER_NUMBER },
    }
    const url = `${rig.liveProducer()}/chatappbusiness/send-templated-message`
    const answer = await postJson(url, body, { 'idempotency-key': `code ${to}` })
    if (answer.status !== 200) throw new Error(`a code was refused: ${JSON.stringify(answer)}`)
    codes.push({ to, askedMs, id: acknowledgement.parse(answer.body).messages[0].id })
    await pause(world.codes.everyMs)
  }
  return codes
}
