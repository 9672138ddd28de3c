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

/** Members of a row with the PostgreSQL types of their columns, in the order of the statement's columns. */
type ColumnTypes<Row> = { readonly [Name in keyof Row & string]?: TypeOf<NonNullable<Row[Name]>> }

/**
 * Sends rows as one array parameter per column. So a statement has the same text and plan for any number of rows, and never
 * exceeds PostgreSQL's limit of 65,535 parameters.
 *
 * `unnest(${columns(users, { id: 'uuid', email: 'text' })}) AS u (id, email)` becomes `unnest($1::uuid[], $2::text[]) AS …`. In a
 * prepared query the rows are a member of its input: `columns(p.users, { … })`.
 *
 * @param rows members that are `null` or `undefined` become NULL
 * @param types the members to send. Other members of the rows are left out
 */
export function columns<Row extends object>(
  rows: readonly Row[],
  types: ColumnTypes<NoInfer<Row>>,
): RawBuilder<unknown> {
  return sql.join(Object.entries(types).map(([name, type]) => sql`${columnOf(rows, name)}::${sql.raw(`${type}[]`)}`))
}

/** A result row of a call for many items, with the number of its item. */
export interface NumberedRow {
  /** The position of the item in the call, from 1: the column `WITH ORDINALITY` of its `unnest`. */
  readonly item: number
}

/**
 * Sorts the result rows in the order of the sent items.
 * @returns a result for each item. It is `undefined` for an item without a row
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
 * Returns the columns of a row for a query.
 * @param row the alias of the row, such as `r`, or an expression such as `(f.payout)`
 * @param names `id, currency AS own`, …, which must be trusted text
 */
export function columnsOfRow(row: string, names: string): RawBuilder<unknown> {
  return sql.raw(names.replaceAll(/(^|, )/g, `$1${row}.`))
}
