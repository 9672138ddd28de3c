import { type RawBuilder, sql } from 'kysely'
import type { Credentials } from './caller.ts'

/**
 * The parts of a query that judges access as the function `judge_access` does, and reads in the same statement: a row `c` for
 * the caller, whatever is looked for, and a row `a` for the membership. Each is there once, or all its columns are null.
 */

/** Where such a query begins: the caller `c`. */
export function fromCaller(p: Credentials): RawBuilder<unknown> {
  return sql`FROM (SELECT 1) one
    LEFT JOIN ${sql.table('identify')}(${p.keyMac}, ${p.person}) c ON true`
}

/** The caller's membership `a` of a merchant. */
export function joinMembership(merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`LEFT JOIN LATERAL ${sql.table('membership')}(${merchantId}, c.identity_id) a ON true`
}

/** The columns `verdict` and `identity_id`. @param found null when there is no such object */
export function judged(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE
        WHEN c.identity_id IS NULL THEN 'unauthorized'
        WHEN ${found} IS NULL THEN 'not-found'
        WHEN a.merchant_id IS NULL THEN 'forbidden'
        ELSE 'done'
      END AS verdict, c.identity_id`
}
