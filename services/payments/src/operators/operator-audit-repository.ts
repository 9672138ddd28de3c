import type { Pools } from '@trestle/database/pools.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { OPERATOR_ACTIONS, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { listOfAll } from '../pagination/list-of-all.ts'
import type { PageBounds } from '../pagination/page-query.ts'

/** An act of an operator on an object: a change, or a read that the audit log must have. */
export interface OperatorAct {
  readonly operator: Operator
  readonly action: OperatorAction
  readonly object: { readonly kind: string; readonly id: string }
}

/**
 * The payload of an act in the audit log: action, actor, key, role, address and object (console reference:
 * Audit of operators).
 */
export function toPayload({ operator: { key, role, address, actor }, action, object }: OperatorAct): object {
  return { action, actor: { id: actor.id, email: actor.email }, key, role, address, object }
}

/**
 * Adds a row to the audit log for something that an operator has read and that concerns no single merchant (console reference:
 * Audit of operators). Most reads have none.
 * @param db the database as the role of operators
 */
export async function insertOperatorRead(db: Db, read: OperatorAct): Promise<void> {
  await sql`SELECT ${sql.table('add_operator_read')}(${read.action}, ${toPayload(read)})`.execute(db)
}

/** An act of an operator by a command, which knows no identity of the operator. */
export interface CommandAct {
  /** For example `app.hidden`. */
  readonly action: string
  /** Absent when the act concerns no merchant. */
  readonly merchantId?: string
  /** Never a secret. */
  readonly payload: object
}

/**
 * Adds the act of an operator by a command to the audit log.
 * @param db the transaction of the change, so that neither is stored without the other. Work that is no single
 * transaction, such as encrypting everything again, is recorded after it
 */
export async function insertOperatorAudit(db: Db, { action, merchantId, payload }: CommandAct): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId ?? null}, NULL, ${action}, ${payload})`.execute(db)
}

export interface AuditEntry {
  readonly id: string
  readonly created: Date
  /** Null when no merchant is concerned. */
  readonly merchantId: string | null
  /** The app or user who acted. Null: an operator. */
  readonly identityId: string | null
  readonly action: string
  /** The details of the action. Never a secret. */
  readonly payload: unknown
}

/** The filters and the page of the audit log. An undefined field filters nothing. */
export interface AuditSearch extends PageBounds {
  readonly merchantId: string | undefined
  /** The id of an operator, an app or a user. */
  readonly actor: string | undefined
  /** An action; an action of an operator also without `operator.`, such as `transactions.refund`. */
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
 * A page of the audit log, of all merchants and of entries without a merchant, for an operator (console reference:
 * Audit of operators).
 */
export function listAudit(
  pools: Pools,
  { merchantId, actor, action, ...page }: AuditSearch,
): Promise<readonly AuditEntry[]> {
  // Ids are stored in lower case, in auth too.
  const filters = { merchant_id: merchantId, actor: actor?.toLowerCase(), action: toStoredAction(action) }
  return entries(pools, { ...page, filters })
}

/** No action of a member of a merchant has the name of an action of operators. */
function toStoredAction(action: string | undefined): string | undefined {
  return action !== undefined && Object.hasOwn(OPERATOR_ACTIONS, action) ? `operator.${action}` : action
}
