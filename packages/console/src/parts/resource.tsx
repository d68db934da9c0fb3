// The list of a resource and its forms, as the table of routes has them (state/forms.ts): a page says only what it shows or says in other
// ways.
import type { ComponentChildren } from 'preact'
import { COLUMNS, type FORMS } from '../state/forms.ts'
import { call, dataOf } from '../state/http.ts'
import type { Spec } from './fields.tsx'
import { ask, thenNotify } from './form.tsx'
import { bodyOf, fieldsOf } from './form-fields.ts'
import type { Column } from './list.tsx'

/** What the table says of a field that a list shows. */
export interface ListedField {
  title: string
  kind: 'text' | 'number' | 'time' | 'check'
}

type Families<Act extends string> =
  Extract<keyof typeof FORMS, `${string}.${Act}`> extends `${infer Family}.${Act}` ? Family : never

/** A resource: its family in the table, its address, the word for it, and the name of one. */
export interface Resource<Row> {
  family: Families<'create'> & Families<'change'>
  at: string
  noun: string
  nameOf: (row: Row) => string
}

/**
 * The columns of its list: first those that the page shows in its own way, in its order, then all others of the table. False leaves one
 * out.
 */
export function columnsOf<Row extends object>(
  family: keyof typeof COLUMNS,
  own: Readonly<Record<string, (Omit<Column<Row>, 'title'> & { title?: string }) | false>> = {},
): (Column<Row> | false)[] {
  const known: Readonly<Record<string, ListedField>> = COLUMNS[family]
  const others = Object.entries(known).filter(([name]) => !(name in own))
  return [
    ...Object.entries(own).map(
      ([name, said]): Column<Row> | false => said !== false && { title: known[name]?.title ?? name, ...said },
    ),
    ...others.map(
      ([name, field]): Column<Row> => ({
        title: field.title,
        ...(field.kind === 'number' && { number: true }),
        ...shownBy(name, field),
      }),
    ),
  ]
}

/** How a field is shown by its kind. */
function shownBy(
  name: string,
  { kind }: ListedField,
): { at: (row: object) => string | null } | { text: (row: object) => string } {
  const valueIn = (row: object): unknown => Reflect.get(row, name)
  if (kind === 'time') return { at: (row) => (valueIn(row) === null ? null : String(valueIn(row))) }
  if (kind === 'check') return { text: (row) => (valueIn(row) === true ? 'yes' : 'no') }
  return { text: (row) => String(valueIn(row) ?? '') }
}

/** What a page says of a form in its own words. */
interface Words {
  own?: Readonly<Record<string, Partial<Spec>>>
  note?: ComponentChildren
}

/** Asks for a new one. `done`: what is said once it is made. */
export const createOne = <Row,>(
  { family, at, noun }: Resource<Row>,
  { done, own, note }: Words & { done: (made: Row) => string },
): void =>
  ask({
    title: `Create a ${noun}`,
    verb: `Create the ${noun}`,
    fields: fieldsOf(`${family}.create`, {}, own),
    note,
    act: async (values, headers) => {
      const body = bodyOf(`${family}.create`, values)
      return done(await dataOf<Row>('POST', at, { body, headers }))
    },
  })

/** Asks for the changes of one. */
export const changeOne = <Row extends { id: number | string }>(
  { family, at, nameOf }: Resource<Row>,
  row: Row,
  { own, note }: Words = {},
): void =>
  ask({
    title: `Change ${nameOf(row)}`,
    verb: 'Change',
    fields: fieldsOf(`${family}.change`, row, own),
    note,
    act: (values) => {
      const body = bodyOf(`${family}.change`, values)
      return thenNotify(call('PATCH', `${at}/${row.id}`, { body }), `${nameOf(row)} is changed.`)
    },
  })

/** Asks before one is removed. `text`: what goes with it. */
export const removeOne = <Row extends { id: number | string }>(
  { at, noun, nameOf }: Resource<Row>,
  row: Row,
  text: ComponentChildren,
): void =>
  ask({
    title: `Remove ${nameOf(row)}`,
    verb: `Remove the ${noun}`,
    danger: true,
    text,
    act: () => thenNotify(call('DELETE', `${at}/${row.id}`), `${nameOf(row)} is removed.`),
  })
