import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, IdentitiesTable } from '../database.ts'
import { NO_TIME } from '../records/timestamp.ts'
import { type Identity, toMetadata } from './identity.ts'

/** Lists the identities of a user, oldest first. A user has a handful. */
export async function listIdentities(db: Db, userId: string): Promise<Identity[]> {
  const rows = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(100)
    .execute()
  return rows.map(toIdentity)
}

/** The unique index of external accounts. */
export const ACCOUNT_KEY = 'identities_provider_id_provider_unique'

/** Inserts an identity. @throws the unique violation of ACCOUNT_KEY when the subject is taken */
export async function insertIdentity(trx: Db, values: Insertable<IdentitiesTable>): Promise<Identity> {
  const moment = sql<string>`clock_timestamp()`
  const query = trx.insertInto('identities').values({ created_at: moment, updated_at: moment, ...values })
  return toIdentity(await query.returningAll().executeTakeFirstOrThrow())
}

/** Inserts an identity, or merges keys into the data of the identity that its subject has. */
export async function upsertIdentity(
  trx: Db,
  values: Insertable<IdentitiesTable> & { readonly updated_at: Date },
  merged: Readonly<Record<string, unknown>>,
): Promise<void> {
  await trx
    .insertInto('identities')
    .values({ created_at: sql<string>`clock_timestamp()`, ...values })
    .onConflict((conflict) =>
      conflict.columns(['provider', 'provider_id']).doUpdateSet({
        identity_data: sql`${sql.ref('identities.identity_data')} || ${JSON.stringify(merged)}::jsonb`,
        updated_at: values.updated_at,
      }),
    )
    .execute()
}

/** Merges keys into the data of a user's identities of one provider. */
export async function updateIdentityData(
  trx: Db,
  owner: { readonly userId: string; readonly provider: string },
  data: Readonly<Record<string, unknown>>,
  now: Date,
): Promise<void> {
  await trx
    .updateTable('identities')
    .set({ identity_data: sql`identity_data || ${JSON.stringify(data)}::jsonb`, updated_at: now })
    .where('user_id', '=', owner.userId)
    .where('provider', '=', owner.provider)
    .execute()
}

/** Maps a row to an identity. Data that is no object counts as empty: an application may have written it by SQL. */
export function toIdentity(row: Selectable<IdentitiesTable>): Identity {
  return {
    id: row.id,
    userId: row.user_id,
    provider: row.provider,
    providerId: row.provider_id,
    data: toMetadata(row.identity_data),
    email: row.email,
    lastSignInAt: row.last_sign_in_at,
    createdAt: row.created_at ?? NO_TIME,
    updatedAt: row.updated_at ?? NO_TIME,
  }
}

/** Deletes an identity. Its user stays, also without any identity: the caller checks that another one is left. */
export async function deleteIdentity(trx: Db, id: string): Promise<void> {
  await trx.deleteFrom('identities').where('id', '=', id).execute()
}

/** Removes the data of an identity of a deleted user, and obscures its subject (reference: Deletion). */
export async function updateDeletedIdentity(
  trx: Db,
  { id, providerId }: { readonly id: string; readonly providerId: string },
  now: Date,
): Promise<void> {
  await trx
    .updateTable('identities')
    .set({ provider_id: providerId, identity_data: {}, last_sign_in_at: null, updated_at: now })
    .where('id', '=', id)
    .execute()
}
