import { sql } from 'kysely'
import type { AuthTables, Db } from '../database.ts'
import { NIL_UUID } from '../records/ids.ts'
import type { EncryptedSecret } from './encrypted-secret.ts'

/** A column of encrypted secrets. `id` is the column whose value each secret is bound to. */
export interface EncryptedColumn {
  readonly table: keyof AuthTables
  readonly column: string
  readonly id: string
  /** A value that sorts before every id. */
  readonly start: string
}

const BEFORE_UUIDS = NIL_UUID

/** Every column that contains encrypted secrets (reference: Secrets at rest). */
export const encryptedColumns: readonly EncryptedColumn[] = [
  { table: 'signing_keys', column: 'private_sealed', id: 'kid', start: '' },
  { table: 'mfa_factors', column: 'sealed_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'custom_oauth_providers', column: 'client_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_pkce_verifier', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'oauth1_secret', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_access_token', id: 'id', start: BEFORE_UUIDS },
  { table: 'flow_state', column: 'provider_refresh_token', id: 'id', start: BEFORE_UUIDS },
  { table: 'operator_changes', column: 'sealed_body', id: 'id', start: BEFORE_UUIDS },
]

export interface StoredSecret {
  readonly id: string
  readonly encrypted: EncryptedSecret
}

const BATCH_ROWS = 100

/**
 * Locks the next secrets of a column that another key has encrypted, until the end of the transaction. Lock order: by id. Skips
 * locked rows, so two calls never wait for each other.
 * @param after the last id of the previous batch
 */
export async function lockOldSecrets(
  trx: Db,
  { table, column, id }: EncryptedColumn,
  { keyId, after }: { readonly keyId: string; readonly after: string },
): Promise<readonly StoredSecret[]> {
  const { rows } = await sql<StoredSecret>`
    SELECT ${sql.ref(id)}::text AS id, ${sql.ref(column)} AS encrypted FROM ${sql.table(table)}
    WHERE ${sql.ref(column)} ->> 'key_id' <> ${keyId} AND ${sql.ref(id)} > ${after}
    ORDER BY ${sql.ref(id)} LIMIT ${sql.lit(BATCH_ROWS)} FOR UPDATE SKIP LOCKED`.execute(trx)
  return rows
}

/** Stores a secret that was encrypted again. `lockOldSecrets` has locked the row. */
export async function updateSecret(
  trx: Db,
  { table, column, id }: EncryptedColumn,
  encrypt: StoredSecret,
): Promise<void> {
  await sql`
    UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${JSON.stringify(encrypt.encrypted)}::jsonb
    WHERE ${sql.ref(id)} = ${encrypt.id}`.execute(trx)
}

/** The number of secrets of a column that another key has encrypted. */
export async function countOldSecrets(db: Db, { table, column }: EncryptedColumn, keyId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int AS count FROM ${sql.table(table)} WHERE ${sql.ref(column)} ->> 'key_id' <> ${keyId}`.execute(
    db,
  )
  return rows[0]?.count ?? 0
}
