import { paymentsFragments } from '@trestle/migrations/payments.ts'
import { type RawBuilder, sql } from 'kysely'

/**
 * A fragment of the SQL functions as a part of a query. A rule that functions and queries share has one text: its file in
 * `migrations/payments/functions/fragments/`.
 * @param values for the parameters of the fragment
 * @throws Error for a fragment that is not there, and for a parameter without a value
 */
export function sqlFragment(name: string, values: Readonly<Record<string, RawBuilder<unknown>>>): RawBuilder<unknown> {
  // Every second part is a name, `users`, or a parameter, `:key_mac`.
  const parts = paymentsFragments(name).split(/\{\{(:?[a-z][a-z0-9_]*)\}\}/)
  const built = parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : toSql(name, part, values)))
  return sql.join(built, sql``)
}

function toSql(
  fragment: string,
  part: string,
  values: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown> {
  if (!part.startsWith(':')) return sql.table(part)
  const value = values[part.slice(1)]
  if (value === undefined)
    throw new Error(`fragments/${fragment} is a part of a query without its parameter ${part.slice(1)}`)
  return value
}
