import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** An attempt that a test inserts. */
interface WrittenAttempt {
  readonly merchantId: string
  readonly state: 'unknown' | 'approved' | 'declined'
  readonly acquirer: string
}

/** Inserts an attempt to charge EUR 5.00, as the service does before it calls an acquirer. Returns its id. */
export async function insertAttempt(
  { database }: Pick<TestPayments, 'database'>,
  { merchantId, state, acquirer }: WrittenAttempt,
): Promise<string> {
  const request = JSON.stringify({ acquirer, currency: 'EUR', amount: 500 })
  const { rows } = await sql<{ id: string }>`
    INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
    SELECT m.id, n.id, n.created, 'charge', ${state}, ${request}::jsonb
    FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = ${merchantId} RETURNING id`.execute(database.db)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no merchant ${merchantId}`)
  return row.id
}
