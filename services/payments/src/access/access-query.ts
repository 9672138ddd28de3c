import { type DistributedForm, type PreparedQuery, prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { paymentsFragments } from '@trestle/migrations/payments.ts'
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

/** The form of a query for a distributed database, where each table below a merchant must be bound to the merchant by a value. */
interface ForDistributed<Input, Row> {
  readonly ownerOf: DistributedForm<Input, Row>['tenantOf']
  /** @param tenant the merchant, as an expression */
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

/** The start of a query that only apps may send: a row `c`, whose `identity_id` is null for an unknown key. */
export function fromApp(keyMac: Buffer | null): RawBuilder<unknown> {
  return fromIdentity(sqlFragment('app_of_key.sql', { key_mac: sql`${keyMac}::bytea` }))
}

// The queries have the text of the SQL functions and do not call them: a query over functions could not be sent to the node of a
// merchant (decision 36).

function fromIdentity(identity: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`FROM (SELECT 1) one LEFT JOIN LATERAL (${identity}) c ON true`
}

function joinMembershipBy(fragment: string, merchantId: RawBuilder<unknown>): RawBuilder<unknown> {
  const membership = sqlFragment(fragment, { merchant_id: merchantId, identity_id: sql`c.identity_id` })
  return sql`LEFT JOIN LATERAL (${membership}) a ON true`
}

/** The columns `verdict` and `identity_id`. `found` is null when there is no such object. */
export function verdictColumns(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${verdictOn(found)} AS verdict, c.identity_id`
}

/** The verdict on a caller `c` and its membership `a`. `found` is null when there is no such object. */
export function verdictOn(found: RawBuilder<unknown>): RawBuilder<unknown> {
  return sqlFragment('access_verdict.sql', {
    identity_id: sql`c.identity_id`,
    is_found: sql`${found} IS NOT NULL`,
    is_allowed: sql`a.merchant_id IS NOT NULL`,
  })
}

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
