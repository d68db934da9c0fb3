// What guarding costs: the same service with a limit of every kind that is never met, with numbers and texts sealed, and with
// neither, in one run. Single messages are accepted with the workers held back; then they are sent.
import { type Bench, compare, type Measured } from '../bench.ts'
import { acceptAndSend } from '../held-back.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, type Spread, spreadOf } from '../statistics.ts'

const SCENARIO = 'guards'
const CONNECTIONS = 64
/** A tenth of a million a second: it is counted, and never reached. */
const NEVER = '100000'

const KINDS: readonly { name: string; settings: Record<string, string>; atLeast?: number }[] = [
  { name: 'neither', settings: {} },
  {
    name: 'limits',
    settings: {
      LANEWAY_LIMIT_KEY_RATE: NEVER,
      LANEWAY_LIMIT_ACCOUNT_RATE: NEVER,
      LANEWAY_LIMIT_ADDRESS_RATE: NEVER,
    },
    atLeast: 0.95,
  },
  { name: 'data key', settings: { LANEWAY_DATA_KEY: 'the data key of the bench is long enough' } },
]

/** Accepting and sending, with limits and with a data key, against neither. */
export async function guards(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const contenders: Laneway[] = []
  for (const { name, settings } of KINDS) {
    const folder = `${dir}/${name.replaceAll(' ', '-')}`
    contenders.push({ ...(await startLaneway(rig, folder, closing, { settings, profile: bench.profile })), name })
  }
  const { accepting: values, sendingUs } = await acceptAndSend(bench, contenders, CONNECTIONS)
  const rates = compare(
    SCENARIO,
    KINDS.map(({ name }) => name),
    values,
    {},
  ).filter(({ unit }) => unit !== 'x')
  return [...rates, ...KINDS.flatMap((_, at) => sendingOf(sendingUs, at)), ...ratiosOf(values, sendingUs)]
}

function sendingOf(sendingUs: readonly number[][], at: number): Figure[] {
  const spread = spreadOf(sendingUs[at] ?? [])
  const what = `${KINDS[at]?.name}, CPU per message sent`
  return [{ scenario: SCENARIO, what, value: spread.median, unit: 'us', spread }]
}

/** Each guard against neither, round by round. */
function ratiosOf(values: readonly Measured[][], sendingUs: readonly number[][]): Figure[] {
  const rateOf = (at: number): number[] => (values[at] ?? []).map(({ perSecond }) => perSecond)
  return KINDS.slice(1).flatMap(({ name, atLeast }, before): Figure[] => {
    const at = before + 1
    const ratio = (what: string, spread: Spread): Figure => ({
      scenario: SCENARIO,
      what: `${name} / neither, ${what}`,
      value: spread.median,
      unit: 'x',
      spread,
    })
    const accepted = ratio('accepted', ratioOf(rateOf(at), rateOf(0)))
    return [
      atLeast === undefined ? accepted : withGoal(accepted, `>= ${atLeast}`),
      ratio('CPU per message sent', ratioOf(sendingUs[at] ?? [], sendingUs[0] ?? [])),
    ]
  })
}
