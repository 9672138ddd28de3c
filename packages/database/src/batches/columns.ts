import { type RawBuilder, sql } from 'kysely'
import { columnOf } from '../prepare.ts'

/** The PostgreSQL types that can hold a value. An object is sent as JSON. */
type TypeOf<Value> = Value extends string
  ? 'text' | 'uuid' | 'date' | 'timestamptz' | 'inet' | 'jsonb'
  : Value extends number | bigint
    ? 'integer' | 'bigint' | 'float8' | 'numeric'
    : Value extends boolean
      ? 'boolean'
      : Value extends Date
        ? 'timestamptz'
        : Value extends Uint8Array
          ? 'bytea'
          : Value extends Readonly<Record<string, unknown>>
            ? 'jsonb' | 'text'
            : never

/** Members of a row, each with the PostgreSQL type of its column, in the order in which a statement takes them. */
type ColumnTypes<Row> = { readonly [Name in keyof Row & string]?: TypeOf<NonNullable<Row[Name]>> }

/**
 * Sends rows as columns: one array parameter for each column, all as long as there are rows. So a statement keeps its text and
 * its plan whatever the number of rows is, and never has more parameters than PostgreSQL takes (65,535).
 *
 * `unnest(${columns(users, { id: 'uuid', email: 'text' })}) AS u (id, email)` becomes `unnest($1::uuid[], $2::text[]) AS …`.
 * In a prepared query the rows are a member of its input: `columns(p.users, { … })`.
 *
 * @param rows null and undefined members become NULL
 * @param types the members to send; others of the rows are left out
 */
export function columns<Row extends object>(
  rows: readonly Row[],
  types: ColumnTypes<NoInfer<Row>>,
): RawBuilder<unknown> {
  return sql.join(Object.entries(types).map(([name, type]) => sql`${columnOf(rows, name)}::${sql.raw(`${type}[]`)}`))
}

/** A row of the answer to a call for many items, with the place of its item. */
export interface NumberedRow {
  /** Place of the item in the call, from 1: the column `WITH ORDINALITY` of its `unnest`. */
  readonly item: number
}

/**
 * Puts the rows of an answer in the order of the items that were sent.
 * @returns a result for each item; undefined for an item that the answer leaves out
 */
export function orderResults<Row extends NumberedRow, Result>(
  items: readonly unknown[],
  rows: readonly Row[],
  toResult: (row: Row) => Result,
): readonly (Result | undefined)[] {
  const results: (Result | undefined)[] = items.map(() => undefined)
  for (const row of rows) results[row.item - 1] = toResult(row)
  return results
}

/**
 * The columns of a row in a query.
 * @param row its name, `r`, or an expression that is a row, such as `(f.payout)`
 * @param names `id, currency AS own`, … as trusted text
 */
export function columnsOfRow(row: string, names: string): RawBuilder<unknown> {
  return sql.raw(names.replaceAll(/(^|, )/g, `$1${row}.`))
}
