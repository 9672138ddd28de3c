import { againWhenLost, transactAgain } from '@trestle/database/again-when-lost.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Answer, Caller, KeyRefusal } from './idempotent-request.ts'

/** Returns SQL that selects the answer of such a function. */
export function answerOf<Body extends object, Refusal extends string>(
  call: RawBuilder<unknown>,
): RawBuilder<Answer<Body, Refusal>> {
  return sql<Answer<Body, Refusal>>`SELECT verdict, answer AS body, quantity::float8, line FROM ${call}`
}

export interface CallerColumns {
  readonly actor: string | null
  readonly path: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: Buffer | null
}

/** Converts a caller to the input of a prepared query: `{ ...callerColumns(caller), id }`. */
export function callerColumns({ actor, idempotentRequest }: Caller): CallerColumns {
  const { path = null, key = null, fingerprint = null } = idempotentRequest ?? {}
  return { actor, path, idempotencyKey: key, fingerprint }
}

/** The argument of type `caller` for SQL functions. */
export function callerRow(p: CallerColumns): RawBuilder<unknown> {
  return sql`ROW(${p.actor}::text, ${p.idempotencyKey}::text, ${p.path}::text, ${p.fingerprint}::bytea)::${sql.table('caller')}`
}

const CREATED = 201

interface Claim<Body extends object> {
  readonly verdict: 'claimed' | 'replayed' | KeyRefusal
  readonly body: Body | null
}

/**
 * Runs a write once for an Idempotency-Key (reference: Idempotency keys). The key is claimed in the transaction of the write, so
 * a write that throws leaves no key. A write that loses a conflict is repeated. Frequent writes do this in a SQL function
 * instead.
 * @throws the error of `make` unless it is a lost conflict, or an error if the write has lost too many conflicts
 */
export async function runOnce<Body extends object>(
  db: Db,
  caller: Caller,
  make: (db: Db) => Promise<Body>,
): Promise<Answer<Body, never>> {
  if (!caller.idempotentRequest) return { verdict: 'done', body: await againWhenLost(() => make(db)) }
  const row = callerRow(callerColumns(caller))
  const claimAndRun = async (trx: Db): Promise<Answer<Body, never>> => {
    const { rows } = await sql<Claim<Body>>`SELECT verdict, body FROM ${sql.table('claim_key')}(${row})`.execute(trx)
    const { verdict, body: stored } = rows[0] ?? { verdict: 'key-running', body: null }
    if (verdict === 'replayed' && stored !== null) return { verdict, body: stored }
    if (verdict === 'key-mismatch' || verdict === 'key-running')
      return { verdict, body: null, quantity: null, line: null }
    const body = await make(trx)
    await sql`
      SELECT ${sql.table('finish_key')}(${row}, ${CREATED}, NULL, ${JSON.stringify(body)}::json)`.execute(trx)
    return { verdict: 'done', body }
  }
  // Within an open transaction, its caller must repeat the whole transaction.
  if (db.isTransaction) return claimAndRun(db)
  return transactAgain(db, claimAndRun)
}

const deleteQuery = prepare(
  'delete_old_keys',
  (p: { limit: number }) => sql<{ deleted: number }>`
    WITH deleted AS (
      DELETE FROM ${sql.table('idempotency_keys')} WHERE (subject, key) IN (
        SELECT subject, key FROM ${sql.table('idempotency_keys')}
        WHERE created_at < now() - interval '24 hours' LIMIT ${p.limit} FOR UPDATE SKIP LOCKED
      ) RETURNING 1
    )
    SELECT count(*)::int AS deleted FROM deleted`,
)

/**
 * Deletes at most `limit` keys that are older than a day. Resolves to the number of deleted keys. No lock order is necessary,
 * because the statement skips keys that a request has locked.
 */
export async function deleteOldKeys(pools: Pools, limit: number): Promise<number> {
  return (await pools.write.one(deleteQuery, { limit })).deleted
}
