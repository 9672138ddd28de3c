import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** Returns the newest audit log entry. */
export function lastAudit({ database }: Pick<TestPayments, 'database'>): Promise<object | undefined> {
  return database.db
    .selectFrom('audit')
    .select(['action', 'payload', 'merchant_id', 'identity_id'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The entry of an operator's act. Without a merchant, its merchant id consists of zeros. */
export function operatorAudit(action: string, payload: object, merchantId = '0'.repeat(24)): object {
  return { action, payload, merchant_id: merchantId, identity_id: null }
}

/** Runs `act` while the audit log refuses entries. */
export async function withoutAudit({ owner }: Pick<TestPayments, 'owner'>, act: () => Promise<void>): Promise<void> {
  await sql`ALTER TABLE payments.audit ADD CONSTRAINT audit_full CHECK (false) NOT VALID`.execute(owner.db)
  try {
    await act()
  } finally {
    await sql`ALTER TABLE payments.audit DROP CONSTRAINT audit_full`.execute(owner.db)
  }
}

/** The error of a refused audit log entry. */
export const AUDIT_FULL = /new row for relation "audit\w*" violates check constraint "audit_full\w*"/
