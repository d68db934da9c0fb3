// The bench's own figures, as `npm run bench -- accept campaign --json bench/capacity/figures.json` writes them.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { MessageCost } from './model.ts'

const fileSchema = z.object({
  machine: z.record(z.string(), z.string()),
  figures: z.array(z.object({ scenario: z.string(), what: z.string(), value: z.number() })),
})

/** What a campaign of some size came to. */
export type CampaignCost = Omit<MessageCost, 'acceptUs'> & { recipients: number }

/** Reads what a message costs, and on which machine and commit that was measured. Throws when a figure is missing. */
export function readFigures(path: string): { cost: MessageCost; machine: Record<string, string> } {
  const { figureOf, machine } = open(path)
  const acceptUs = figureOf('accept', 'Laneway, CPU per message')
  const { workerUs, redisUs, recordBytes } = readCampaign(path)
  return { machine, cost: { acceptUs, workerUs, redisUs, recordBytes } }
}

/** The same of a campaign alone. */
export function readCampaign(path: string): CampaignCost {
  const { figureOf } = open(path)
  return {
    recipients: figureOf('campaign', 'recipients'),
    workerUs: figureOf('campaign', 'worker, CPU per message'),
    redisUs: figureOf('campaign', 'Redis, CPU per message'),
    recordBytes: figureOf('campaign', 'Redis per finished message'),
  }
}

function open(path: string) {
  const { figures, machine } = fileSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  const figureOf = (scenario: string, what: string): number => {
    const found = figures.find((each) => each.scenario === scenario && each.what === what)
    if (found === undefined) throw new Error(`${path} has no figure "${what}" of ${scenario}`)
    return found.value
  }
  return { machine, figureOf }
}
