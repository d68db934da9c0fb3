// What has changed from one snapshot to the next, and the next one made of it: a reader of the stream gets only
// that. Of a lane or a campaign the fields that changed, of everything else the whole where something did. Pure; the
// pages of the console apply with the same code.
import type { Snapshot, SnapshotCampaign, SnapshotLane } from './snapshot.ts'

/** Rows that are known by a number or an id. `order` is there when it has changed, and a row that is not in it is gone. */
interface RowsChange<Row, Id extends string | number> {
  order?: Id[]
  /** By id: of a new row all fields, else those that changed. */
  rows: Record<string, Partial<Row>>
}

/** As it is sent. */
export type SnapshotChange = Partial<Omit<Snapshot, 'at' | 'lanes' | 'campaigns'>> & {
  /** Of the snapshot that it changes, and of the one that it makes. */
  from: string
  at: string
  lanes?: RowsChange<SnapshotLane, number>
  campaigns?: RowsChange<SnapshotCampaign, string>
}

const laneId = ({ sender }: SnapshotLane): number => sender
const campaignId = ({ id }: SnapshotCampaign): string => id

/** What makes `now` of `before`. */
export function changeOf(before: Snapshot, now: Snapshot): SnapshotChange {
  const { lanes, campaigns, at, ...rest } = now
  const changedLanes = rowsChange(before.lanes, lanes, laneId)
  const changedCampaigns = rowsChange(before.campaigns, campaigns, campaignId)
  return {
    at,
    from: before.at,
    ...fieldsChanged(before, rest),
    ...(changedLanes && { lanes: changedLanes }),
    ...(changedCampaigns && { campaigns: changedCampaigns }),
  }
}

/** The snapshot that the change makes; undefined when it is none of this one. */
export function changed(before: Snapshot, change: SnapshotChange): Snapshot | undefined {
  if (change.from !== before.at) return undefined
  const { from: _from, lanes, campaigns, ...rest } = change
  return {
    ...before,
    ...rest,
    lanes: lanes ? withRows(before.lanes, lanes, laneId) : before.lanes,
    campaigns: campaigns ? withRows(before.campaigns, campaigns, campaignId) : before.campaigns,
  }
}

function rowsChange<Row extends object, Id extends string | number>(
  before: readonly Row[],
  now: readonly Row[],
  idOf: (row: Row) => Id,
): RowsChange<Row, Id> | undefined {
  const known = new Map(before.map((row) => [idOf(row), row]))
  const rows: Record<string, Partial<Row>> = {}
  for (const row of now) {
    const fields = fieldsChanged(known.get(idOf(row)), row)
    if (fields !== undefined) rows[String(idOf(row))] = fields
  }
  const order = now.map(idOf)
  const isOther = !isSame(order, before.map(idOf))
  if (!isOther && Object.keys(rows).length === 0) return undefined
  return { ...(isOther && { order }), rows }
}

/** All fields of a row that was not there before; undefined when none has changed. */
function fieldsChanged<Row extends object>(old: Row | undefined, row: Row): Partial<Row> | undefined {
  if (old === undefined) return row
  let fields: Partial<Row> | undefined
  for (const name of Object.keys(row) as (keyof Row)[]) {
    if (!isSame(old[name], row[name])) fields = { ...fields, [name]: row[name] } as Partial<Row>
  }
  return fields
}

function withRows<Row extends object, Id extends string | number>(
  before: readonly Row[],
  { order, rows }: RowsChange<Row, Id>,
  idOf: (row: Row) => Id,
): Row[] {
  const known = new Map(before.map((row) => [idOf(row), row]))
  return (order ?? before.map(idOf)).flatMap((id) => {
    const fields = rows[String(id)]
    const row = known.get(id)
    // Of a row that was not there all fields have come.
    return fields === undefined ? (row ?? []) : [{ ...row, ...fields } as Row]
  })
}

/** Values of a snapshot are plain: numbers, texts, lists and objects of them. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)))
  )
}
