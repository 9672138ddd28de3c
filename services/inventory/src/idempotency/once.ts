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
 * Makes something once for a key, in the transaction in which the key is claimed: for what is not hot enough to be a function
 * of the database. What the work throws leaves no trace of the key; what lost against others is done again.
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
