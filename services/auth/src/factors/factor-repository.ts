import type { Kysely, Selectable, Transaction, Updateable } from 'kysely'
import type { AuthDatabase, MfaFactorsTable } from '../database.ts'
import type { Factor } from './factor.ts'

type Database = Kysely<AuthDatabase>

/** What a second factor adds to the `amr` of a session (contract 5.1), by its type. */
const METHODS: Readonly<Record<Factor['factorType'], string>> = {
  totp: 'totp',
  phone: 'mfa/phone',
  webauthn: 'mfa/webauthn',
  recovery_code: 'mfa/recovery_code',
}

/** Locks a factor of a user until the transaction ends. */
export async function lockFactor(
  trx: Transaction<AuthDatabase>,
  userId: string,
  factorId: string,
): Promise<Factor | undefined> {
  const row = await trx
    .selectFrom('mfa_factors')
    .selectAll()
    .where('id', '=', factorId)
    .where('user_id', '=', userId)
    .forUpdate()
    .executeTakeFirst()
  return row && toFactor(row)
}

/** Whether a user has a second factor that they have proven to have. */
export async function hasVerifiedFactor(db: Database, userId: string): Promise<boolean> {
  const query = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('status', '=', 'verified')
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** Changes a factor. Throws the unique violation of `mfa_factors_name_key` when its user has another of that name. */
export async function updateFactor(
  trx: Database,
  factorId: string,
  changes: Updateable<MfaFactorsTable>,
): Promise<Factor> {
  const query = trx.updateTable('mfa_factors').set(changes).where('id', '=', factorId)
  return toFactor(await query.returningAll().executeTakeFirstOrThrow())
}

/** Removes a factor. Sessions that it has raised fall back to what they were without it (contract 6.4). */
export async function deleteFactor(
  trx: Transaction<AuthDatabase>,
  { id, factorType }: Pick<Factor, 'id' | 'factorType'>,
  now: Date,
): Promise<void> {
  const lowered = await trx
    .updateTable('sessions')
    .set({ aal: 'aal1', factor_id: null, updated_at: now })
    .where('factor_id', '=', id)
    .returning('id')
    .execute()
  const sessionIds = lowered.map((session) => session.id)
  if (sessionIds.length > 0) {
    await trx
      .deleteFrom('mfa_amr_claims')
      .where('session_id', 'in', sessionIds)
      .where('authentication_method', '=', METHODS[factorType])
      .execute()
  }
  await trx.deleteFrom('mfa_factors').where('id', '=', id).execute()
}

/** The columns of a factor that may be seen: not its secret. */
export type FactorRow = Pick<
  Selectable<MfaFactorsTable>,
  'id' | 'friendly_name' | 'factor_type' | 'status' | 'phone' | 'last_challenged_at' | 'created_at' | 'updated_at'
>

/** Maps a row to the domain's factor. */
export function toFactor(row: FactorRow): Factor {
  return {
    id: row.id,
    friendlyName: row.friendly_name,
    // The table's CHECK constraints allow nothing else.
    factorType: row.factor_type as Factor['factorType'],
    status: row.status as Factor['status'],
    phone: row.phone,
    lastChallengedAt: row.last_challenged_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
