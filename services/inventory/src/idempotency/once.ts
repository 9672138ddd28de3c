import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { Answer, KeyRefusal } from './answer.ts'
import { type Caller, callerColumns, callerRow } from './caller.ts'

const CREATED = 201

interface Claim<Body extends object> {
  readonly verdict: 'claimed' | 'replayed' | KeyRefusal
  readonly body: Body | null
}

/**
 * Runs a write once for an Idempotency-Key (reference: Idempotency keys). The key is claimed in the transaction of the write, so
 * a write that throws leaves no trace of the key. A write that loses a conflict runs again. Hot writes are functions of the
 * database instead.
 */
export async function makeOnce<Body extends object>(
  db: Kysely<InventoryTables>,
  caller: Caller,
  make: (db: Kysely<InventoryTables>) => Promise<Body>,
): Promise<Answer<Body, never>> {
  if (!caller.repeat) return { verdict: 'done', body: await againWhenLost(() => make(db)) }
  const row = callerRow(callerColumns(caller))
  const claimAndMake = async (trx: Kysely<InventoryTables>): Promise<Answer<Body, never>> => {
    const { rows } = await sql<Claim<Body>>`SELECT verdict, body FROM ${sql.table('claim_key')}(${row})`.execute(trx)
    const { verdict, body } = rows[0] ?? { verdict: 'key-running', body: null }
    if (verdict === 'replayed' && body !== null) return { verdict, body }
    if (verdict === 'key-mismatch' || verdict === 'key-running')
      return { verdict, body: null, quantity: null, line: null }
    const made = await make(trx)
    await sql`
      SELECT ${sql.table('finish_key')}(${row}, ${CREATED}, NULL, ${JSON.stringify(made)}::json)`.execute(trx)
    return { verdict: 'done', body: made }
  }
  return againWhenLost(() => db.transaction().execute(claimAndMake))
}
