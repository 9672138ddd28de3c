import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** An act of an operator. Operators have no identity. */
export interface OperatorAction {
  /** For example `app.hidden`. */
  readonly action: string
  /** Absent when the act concerns no merchant. */
  readonly merchantId?: string
  /** Never a secret. */
  readonly payload: object
}

/**
 * Adds an act of an operator to the audit log. Takes the transaction of the effect where there is one; where a SQL function made
 * the effect, the row follows it.
 */
export async function insertOperatorAudit(db: Db, { action, merchantId, payload }: OperatorAction): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId ?? null}, NULL, ${action}, ${payload})`.execute(db)
}
