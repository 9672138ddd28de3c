import { sql } from 'kysely'
import type { AuthTables, Db } from '../database.ts'
import { NIL_UUID } from '../records/ids.ts'
import type { SealedSecret } from './sealed-secret.ts'

/** A column of sealed secrets, and the column that names the row that each secret is sealed for. */
export interface SealedPlace {
  readonly table: keyof AuthTables
  readonly column: string
  readonly id: string
  /** Before the id of every row. */
  readonly start: string
}

const BEFORE_UUIDS = NIL_UUID

/** Every column that holds sealed secrets (reference: Secrets at rest). */
export const sealedPlaces: readonly SealedPlace[] = [
  { table: 'signing_keys', column: 'private_sealed', id: 'kid', start: '' },
  { table: 'mfa_factors', column: 'sealed_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'custom_oauth_providers', column: 'client_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_pkce_verifier', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'oauth1_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_access_token', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_refresh_token', id: 'id', start: BEFORE_UUIDS },
  { table: 'operator_changes', column: 'sealed_body', id: 'id', start: BEFORE_UUIDS },
]

/** A sealed secret, and the id of its row. */
export interface StoredSeal {
  readonly id: string
  readonly sealed: SealedSecret
}

const BATCH_ROWS = 100

/**
 * The next secrets of a column that another key sealed, locked until the end of the transaction. Lock order: by id. The statement
 * skips locked rows, so two calls never wait for each other.
 * @param after the last id of the batch before
 */
export async function lockOldSeals(
  trx: Db,
  { table, column, id }: SealedPlace,
  { keyId, after }: { readonly keyId: string; readonly after: string },
): Promise<readonly StoredSeal[]> {
  const { rows } = await sql<StoredSeal>`
    SELECT ${sql.ref(id)}::text AS id, ${sql.ref(column)} AS sealed FROM ${sql.table(table)}
    WHERE ${sql.ref(column)} ->> 'key_id' <> ${keyId} AND ${sql.ref(id)} > ${after}
    ORDER BY ${sql.ref(id)} LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`.execute(trx)
  return rows
}

/** Stores a secret that was encrypted again. The row is locked by `lockOldSeals`. */
export async function updateSeal(trx: Db, { table, column, id }: SealedPlace, seal: StoredSeal): Promise<void> {
  await sql`
    UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${JSON.stringify(seal.sealed)}::jsonb
    WHERE ${sql.ref(id)} = ${seal.id}`.execute(trx)
}

/** How many secrets of a column another key sealed. */
export async function countOldSeals(db: Db, { table, column }: SealedPlace, keyId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int AS count FROM ${sql.table(table)} WHERE ${sql.ref(column)} ->> 'key_id' <> ${keyId}`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}
