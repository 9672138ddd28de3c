import { type DistributedForm, type PreparedQuery, prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { paymentsFragments } from '@trestle/migrations/payments.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Credentials } from './caller.ts'

/**
 * The parts of a query that checks access with the same SQL as the function `judge_access` and reads rows in the same statement.
 * Each part joins exactly one row. The columns of that row are `NULL` if nothing was found.
 */
export interface Access {
  /** The start of the query. It selects a row `c` for the caller, with the column `identity_id`. */
  readonly fromCaller: RawBuilder<unknown>
  /** Joins a row `a` for the membership of the caller at a merchant, with the column `merchant_id`. */
  joinMembership(merchantId: RawBuilder<unknown>): RawBuilder<unknown>
}

/**
 * Declares a query that checks access, in two forms: one for any caller and one for apps. Nearly all callers are apps. The form
 * for apps skips the lookups of users and their memberships, which took a sixth of PostgreSQL's time for such a query.
 */
export function prepareForCaller<Input extends Credentials, Row>(
  name: string,
  build: (access: Access, p: Input) => RawBuilder<Row>,
  distributed?: ForDistributed<Input, Row>,
): PreparedQuery<Input, Row> {
  const form = (suffix: string, accessOf: (p: Credentials) => Access) => {
    const query = prepare<Input, Row>(`${name}${suffix}`, (p) => build(accessOf(p), p))
    return distributed
      ? routeByTenant(query, distributed.ownerOf, (p) => distributed.build(accessOf(p), p, sql`${p.tenant}::text`))
      : query
  }
  const ofApp = form('_of_app', accessOfApp)
  return { ...form('', accessOfAnybody), variantFor: ({ keyMac }) => (keyMac === null ? undefined : ofApp) }
}

/** The form for a distributed database. Each table of a merchant must be filtered by the merchant's id as a value. */
interface ForDistributed<Input, Row> {
  readonly ownerOf: DistributedForm<Input, Row>['tenantOf']
  /** @param tenant the id of the merchant, as an SQL expression */
  readonly build: (access: Access, p: Input, tenant: RawBuilder<unknown>) => RawBuilder<Row>
}

function accessOfApp(p: Credentials): Access {
  return {
    fromCaller: fromApp(p.keyMac),
    joinMembership: (merchantId) => joinMembershipBy('app_membership.sql', merchantId),
  }
}

function accessOfAnybody({ keyMac, userEmail }: Credentials): Access {
  const values = { key_mac: sql`${keyMac}::bytea`, user_email: sql`${userEmail}::text` }
  return {
    fromCaller: fromIdentity(sqlFragment('caller_identity.sql', values)),
    joinMembership: (merchantId) => joinMembershipBy('membership.sql', merchantId),
  }
}

/** The start of a query that only apps may send. It selects a row `c`, whose `identity_id` is `NULL` if the key is unknown. */
export function fromApp(keyMac: Buffer | null): RawBuilder<unknown> {
  return fromIdentity(sqlFragment('app_of_key.sql', { key_mac: sql`${keyMac}::bytea` }))
}

// These queries contain the text of the SQL functions instead of calling them. A distributed database could not route a query
// that calls functions to the node of a merchant (decision 36).

function fromIdentity(identity: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`FROM (SELECT 1) one LEFT JOIN LATERAL (${identity}) c ON true`
}

function joinMembershipBy(fragment: string, merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  const membership = sqlFragment(fragment, { merchant_id: merchantId, identity_id: sql`c.identity_id` })
  return sql`LEFT JOIN LATERAL (${membership}) a ON true`
}

/** The columns `verdict` and `identity_id`. `found` is SQL that is `NULL` if the object does not exist. */
export function verdictColumns(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${verdictOn(found)} AS verdict, c.identity_id`
}

/** The verdict on caller `c` with membership `a`. `found` is SQL that is `NULL` if the object does not exist. */
export function verdictOn(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sqlFragment('access_verdict.sql', {
    identity_id: sql`c.identity_id`,
    is_found: sql`${found} IS NOT NULL`,
    is_allowed: sql`a.merchant_id IS NOT NULL`,
  })
}

/**
 * Returns a fragment of the SQL functions as a part of a query. Queries and SQL functions share the text of a rule: its file in
 * `migrations/payments/functions/fragments/`.
 * @param values the values of the fragment's parameters
 * @throws Error if the fragment does not exist or a parameter has no value
 */
export function sqlFragment(name: string, values: Readonly<Record<string, RawBuilder<unknown>>>): RawBuilder<unknown> {
  // The elements at odd indexes are placeholders: the name of a table, such as `users`, or a parameter, such as `:key_mac`.
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
