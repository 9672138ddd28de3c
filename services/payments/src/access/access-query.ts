import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Credentials } from './caller.ts'

/**
 * The parts of a query that judges access as the function `judge_access` does, and reads in the same statement. Each row is
 * there once, or all its columns are null.
 */
export interface Access {
  /** Where such a query begins: with a row `c` for the caller, `identity_id` alone, whatever is looked for. */
  readonly fromCaller: RawBuilder<unknown>
  /** Joins a row `a` for the caller's membership of a merchant, `merchant_id` alone. */
  joinMembership(merchantId: RawBuilder<unknown>): RawBuilder<unknown>
}

/**
 * Declares a query that judges access, in two forms. Nearly all callers are apps: theirs does not ask whether the caller is a
 * person, nor for memberships of persons, which took PostgreSQL a sixth of its time for a merchant.
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
    // As the function `membership`, but for its persons.
    joinMembership: (merchantId) => sql`LEFT JOIN LATERAL (
      SELECT s.merchant_id FROM ${sql.table('merchant_apps')} s
      WHERE s.merchant_id = ${merchantId} AND s.app_id = c.identity_id AND NOT s.pending
    ) a ON true`,
  }
}

function accessOfAnybody(p: Credentials): Access {
  return {
    fromCaller: sql`FROM (SELECT 1) one LEFT JOIN ${sql.table('identify')}(${p.keyMac}, ${p.person}) c ON true`,
    joinMembership: (merchantId) =>
      sql`LEFT JOIN LATERAL ${sql.table('membership')}(${merchantId}, c.identity_id) a ON true`,
  }
}

/** Where a query begins that apps alone may ask: with a row `c`, whose `identity_id` is null for an unknown key. */
export function fromApp(keyMac: Buffer | null): RawBuilder<unknown> {
  return sql`FROM (SELECT 1) one LEFT JOIN ${sql.table('caller_identity')}(${keyMac}) c ON true`
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
