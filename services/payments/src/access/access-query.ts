import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Credentials } from './caller.ts'

/**
 * The parts of a query that judges access as the SQL function `judge_access` does, and reads rows in the same
 * statement. Each part adds exactly one row, whose columns are null where nothing was found.
 */
export interface Access {
  /** The start of the query: a row `c` for the caller, with `identity_id` only. */
  readonly fromCaller: RawBuilder<unknown>
  /** Joins a row `a` for the membership of the caller at a merchant, with `merchant_id` only. */
  joinMembership(merchantId: RawBuilder<unknown>): RawBuilder<unknown>
}

/**
 * Declares a query that judges access, in two forms. Nearly all callers are apps. The form for apps does not look for a
 * user or for memberships of users, which took PostgreSQL a sixth of its time for a merchant.
 */
export function prepareForCaller<Input extends Credentials, Row>(
  name: string,
  build: (access: Access, p: Input) => RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  const ofApp = prepare<Input, Row>(`${name}_of_app`, (p) => build(accessOfApp(p), p))
  const ofAnybody = prepare<Input, Row>(name, (p) => build(accessOfAnybody(p), p))
  return { ...ofAnybody, choose: ({ keyMac }) => (keyMac === null ? undefined : ofApp) }
}

function accessOfApp(p: Credentials): Access {
  return {
    fromCaller: fromApp(p.keyMac),
    // The SQL function `membership` would look for a user too, which takes longer.
    joinMembership: (merchantId) => sql`LEFT JOIN LATERAL (
      SELECT s.merchant_id FROM ${sql.table('merchant_apps')} s
      WHERE s.merchant_id = ${merchantId} AND s.app_id = c.identity_id AND NOT s.pending
    ) a ON true`,
  }
}

function accessOfAnybody(p: Credentials): Access {
  return {
    fromCaller: sql`FROM (SELECT 1) one LEFT JOIN ${sql.table('identify')}(${p.keyMac}, ${p.userEmail}) c ON true`,
    joinMembership: (merchantId) =>
      sql`LEFT JOIN LATERAL ${sql.table('membership')}(${merchantId}, c.identity_id) a ON true`,
  }
}

/** The start of a query that only apps may send: a row `c`, whose `identity_id` is null for an unknown key. */
export function fromApp(keyMac: Buffer | null): RawBuilder<unknown> {
  return sql`FROM (SELECT 1) one LEFT JOIN ${sql.table('caller_identity')}(${keyMac}) c ON true`
}

/**
 * The columns `verdict` and `identity_id`.
 * @param found an expression that is null when there is no such object
 */
export function verdictColumns(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE
        WHEN c.identity_id IS NULL THEN 'unauthorized'
        WHEN ${found} IS NULL THEN 'not-found'
        WHEN a.merchant_id IS NULL THEN 'forbidden'
        ELSE 'done'
      END AS verdict, c.identity_id`
}
