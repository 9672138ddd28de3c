import type { Pools } from '@trestle/database/pools.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { OPERATOR_ACTIONS, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'

/** An act of an operator on an object: a change, or a read that must be in the audit log. */
export interface OperatorAct {
  readonly operator: Operator
  readonly action: OperatorAction
  readonly object: { readonly kind: string; readonly id: string }
}

/**
 * Returns the payload of an act in the audit log: action, actor, key, role, address and object (console reference: Audit of
 * operators).
 */
export function toPayload({ operator: { key, role, address, actor }, action, object }: OperatorAct): object {
  return { action, actor: { id: actor.id, email: actor.email }, key, role, address, object }
}

/**
 * Adds a row to the audit log for an operator's read that concerns no single merchant (console reference: Audit of operators).
 * Most reads are not recorded.
 * @param db the database as the role of operators
 */
export async function insertOperatorRead(db: Db, read: OperatorAct): Promise<void> {
  await sql`SELECT ${sql.table('add_operator_read')}(${read.action}, ${toPayload(read)})`.execute(db)
}

/** An act of an operator by a command. The command does not identify the operator. */
export interface CommandAct {
  /** For example `app.hidden`. */
  readonly action: string
  /** Absent if the act concerns no merchant. */
  readonly merchantId?: string
  /** Must not contain a secret. */
  readonly payload: object
}

/**
 * Adds an operator's act by a command to the audit log.
 * @param db the database transaction of the change, so that neither is stored without the other. Work in several transactions,
 * such as encrypting all rows again, is recorded after it ends.
 */
export async function insertOperatorAudit(db: Db, { action, merchantId, payload }: CommandAct): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId ?? null}, NULL, ${action}, ${payload})`.execute(db)
}

export interface AuditEntry {
  readonly id: string
  readonly created: Date
  /** `null` if the entry concerns no merchant. */
  readonly merchantId: string | null
  /** The app or user who acted. If it is `null`, an operator acted. */
  readonly identityId: string | null
  readonly action: string
  /** The details of the action, without secrets. */
  readonly payload: unknown
}

/** The filters and the page of the audit log. An `undefined` field does not filter. */
export interface AuditSearch extends PageBounds {
  readonly merchantId: string | undefined
  /** The id of an operator, an app or a user. */
  readonly actor: string | undefined
  /** The name of an action. For an action of an operator, the prefix `operator.` may be omitted, as in `transactions.refund`. */
  readonly action: string | undefined
}

const entries = listOfAll<AuditEntry>('all_audit', {
  table: 'audit',
  columns: sql`r.id, r.created, nullif(r.merchant_id, repeat('0', 24)) AS "merchantId", r.identity_id AS "identityId",
    r.action, r.payload`,
  filters: ['merchant_id', 'actor', 'action'],
  expressions: { actor: sql`(coalesce(r.identity_id, r.payload #>> '{actor,id}') COLLATE "C")` },
})

/**
 * Returns a page of the audit log for an operator (console reference: Audit of operators). The log has entries of all merchants
 * and entries without a merchant.
 */
export function listAudit(
  pools: Pools,
  { merchantId, actor, action, ...page }: AuditSearch,
): Promise<readonly AuditEntry[]> {
  // Actor ids are stored in lower case, also those from auth.
  const filters = { merchant_id: merchantId, actor: actor?.toLowerCase(), action: toStoredAction(action) }
  return entries(pools, { ...page, filters })
}

/** Adds the prefix `operator.` to an operator action. No action of a merchant's members has the same name. */
function toStoredAction(action: string | undefined): string | undefined {
  return action !== undefined && Object.hasOwn(OPERATOR_ACTIONS, action) ? `operator.${action}` : action
}
