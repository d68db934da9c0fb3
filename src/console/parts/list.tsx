// Lists that are loaded in pages: the first at once, each further one on request.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Loaded, useLoad } from '../state/hooks.ts'
import { type Call, call, type Page } from '../state/http.ts'
import { Button } from './button.tsx'
import { WhenLoaded } from './page.tsx'
import { Table, type TableOf } from './table.tsx'

/** Loads the pages of a list; another `key` is another list. */
export interface Source<Row> {
  key: string
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>
}

/** A list at an address of the API. */
export const listAt = <Row,>(path: string, query: Call['query'] = {}): Source<Row> => ({
  key: `${path} ${JSON.stringify(query)}`,
  load: (cursor, signal) => call('GET', path, { query: { ...query, cursor }, signal }),
})

/** The rows that have been loaded. */
export interface Rows<Row> {
  loaded: Loaded<Page<Row>>
  rows: readonly Row[]
  /** Loads the next page; undefined on the last. */
  more: (() => Promise<void>) | undefined
}

/** Loads a list, and again every `every` ms until somebody asks for a second page. */
export function useRows<Row>(source: Source<Row>, every?: number): Rows<Row> {
  const [later, setLater] = useState<{ of: Page<Row> | undefined; rows: readonly Row[]; next: string | null }>()
  const loaded = useLoad(source.key, (signal) => source.load(undefined, signal), later ? undefined : every)
  const page = loaded.value
  useEffect(() => setLater(undefined), [page])
  const current = later !== undefined && later.of === page ? later : undefined
  const rows = [...(page?.data ?? []), ...(current?.rows ?? [])]
  const next = current ? current.next : (page?.next ?? null)
  const more = async (cursor: string): Promise<void> => {
    setLater({ of: page, rows: current?.rows ?? [], next })
    const got = await source.load(cursor)
    setLater({ of: page, rows: [...(current?.rows ?? []), ...got.data], next: got.next })
  }
  return { loaded, rows, more: next === null ? undefined : () => more(next) }
}

/** The button below a list. */
export const More = ({ more, name = 'Show more' }: Pick<Rows<never>, 'more'> & { name?: string | undefined }) =>
  more && (
    <Button busy="Loading …" press={more}>
      {name}
    </Button>
  )

/**
 * A whole list: its age, its table, and the button for more. The server may search only a part at a time: if that part has
 * no match and there is more to search, `none` is shown in place of `empty`.
 */
export function List<Row>({
  from,
  every,
  empty,
  none = empty,
  more: name,
  ...table
}: Omit<TableOf<Row>, 'rows'> & {
  from: Source<Row>
  every?: number
  empty: ComponentChildren
  none?: ComponentChildren
  more?: string
}) {
  const { loaded, rows, more } = useRows(from, every)
  return (
    <>
      <WhenLoaded loaded={loaded} age>
        {() => (rows.length > 0 ? <Table {...table} rows={rows} busy={loaded.busy} /> : more ? none : empty)}
      </WhenLoaded>
      <More more={more} name={rows.length === 0 ? 'Look further back' : name} />
    </>
  )
}
