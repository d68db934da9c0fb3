// The plan of a batch as it is kept under an Idempotency-Key: one word of a few characters where all items go to one
// lane, `01KAGQ….12*1000`, and at most some 8 KB where every item goes to another. A refused item has the lane 0.

/** What a batch became when it first came: enough to derive the id of each message again. */
export interface BatchPlan {
  /** All ids of the batch are derived from it. */
  ulid: string
  /** The lane of each item; undefined for one that was refused. */
  lanes: readonly (number | undefined)[]
}

/** The plan as text without spaces; equal neighbouring lanes are written once with their count. */
export function writePlan({ ulid, lanes }: BatchPlan): string {
  const runs: { lane: number; length: number }[] = []
  for (const lane of lanes) {
    const last = runs.at(-1)
    if (last && last.lane === (lane ?? 0)) last.length += 1
    else runs.push({ lane: lane ?? 0, length: 1 })
  }
  return `${ulid}.${runs.map(({ lane, length }) => `${lane}*${length}`).join(',')}`
}

/** What `writePlan` wrote. */
export function readPlan(text: string): BatchPlan {
  const [ulid = '', runs = ''] = text.split('.')
  const lanes = runs.split(',').flatMap((run) => {
    const [lane, length] = run.split('*').map(Number)
    return Array.from({ length: length ?? 0 }, () => (lane ? lane : undefined))
  })
  return { ulid, lanes }
}
