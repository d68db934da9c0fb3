// The bench's own figures, as `npm run bench -- accept campaign --json bench/capacity/figures.json` and `npm run bench --
// numbers --json bench/capacity/numbers-<...>.json` write them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { answerTimeSchema, meanMs } from '../provider-contract.ts'
import { type MessageCost, PROTOCOLS, type SendingCost } from './model.ts'

const FOLDER = 'bench/capacity'

const fileSchema = z.object({
  machine: z.record(z.string(), z.string()),
  asked: z.unknown().optional(),
  figures: z.array(z.object({ scenario: z.string(), what: z.string(), value: z.number() })),
})

/** What a campaign of some size came to. */
export type CampaignCost = Omit<MessageCost, 'acceptUs' | 'sending'> & { recipients: number }

/** The order to the scenario `numbers`, as far as it counts here. */
const askedSchema = z.object({
  tls: z.enum(PROTOCOLS, 'is not of --tls h1 or h2'),
  workers: z.literal(1, 'is not of one worker'),
  'answer-ms': answerTimeSchema,
})

/** The files that hold what `npm run bench -- numbers` came to at several answer times; none before that was measured. */
export const numbersFiles = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => /^numbers-.*\.json$/.test(name))
    .sort()
    .map((name) => join(FOLDER, name))

/** Where figures come from: a machine, a commit, and what was typed. */
export type Origin = Record<string, string>

/** Reads what a message costs, and where that is from. Throws when a figure is missing. */
export function readFigures(
  path: string,
  numbers: readonly string[] = numbersFiles(),
): {
  cost: MessageCost
  machine: Origin
  numbers: Origin[]
} {
  const { figureOf, machine } = open(path)
  const acceptUs = figureOf('accept', 'Laneway, CPU per message')
  const { workerUs, redisUs, recordBytes } = readCampaign(path)
  const sending = numbers.map(readNumbers)
  return {
    ...{ machine, numbers: sending.map(({ machine: of }) => of) },
    cost: { acceptUs, workerUs, redisUs, recordBytes, sending: sending.map(({ cost }) => cost) },
  }
}

/** What many numbers came to, as `npm run bench -- numbers --json <file>` has written it. */
export function readNumbers(path: string): { cost: SendingCost; machine: Origin } {
  const { figureOf, machine, asked } = open(path)
  const { tls, 'answer-ms': answer } = askedSchema.parse(asked)
  const figure = (what: string): number => figureOf('numbers', what)
  return {
    machine,
    cost: {
      ...{ protocol: tls, answerMs: meanMs(answer), perSecond: figure('Laneway') },
      workerUs: figure("Laneway, workers' CPU per message"),
      redisUs: figure("Laneway, Redis' CPU per message"),
      workerMb: figure('Laneway, memory of a worker'),
      inFlight: figure('Laneway, in flight, most'),
      connections: figure('Laneway, connections'),
    },
  }
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
  const { figures, machine, asked } = fileSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  const figureOf = (scenario: string, what: string): number => {
    const found = figures.find((each) => each.scenario === scenario && each.what === what)
    if (found === undefined) throw new Error(`${path} has no figure "${what}" of ${scenario}`)
    return found.value
  }
  return { machine, asked, figureOf }
}
