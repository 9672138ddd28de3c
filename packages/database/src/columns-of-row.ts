import { type RawBuilder, sql } from 'kysely'

/**
 * The columns of a row in a query.
 * @param row its name, `r`, or an expression that is a row, such as `(f.payout)`
 * @param names `id, currency AS own`, … as trusted text
 */
export function columnsOfRow(row: string, names: string): RawBuilder<unknown> {
  return sql.raw(names.replaceAll(/(^|, )/g, `$1${row}.`))
}
