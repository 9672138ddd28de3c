import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, IdentitiesTable, Trx } from '../database.ts'
import { NO_TIME } from '../records/timestamp.ts'
import { type ExternalAccount, type Identity, toMetadata } from './identity.ts'

/** Lists the identities of a user, oldest first. A user has only a few. */
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

/** Inserts an identity. @throws the unique violation of ACCOUNT_KEY if the subject is taken */
export async function insertIdentity(trx: Db, values: Insertable<IdentitiesTable>): Promise<Identity> {
  const moment = sql<string>`clock_timestamp()`
  const query = trx.insertInto('identities').values({ created_at: moment, updated_at: moment, ...values })
  return toIdentity(await query.returningAll().executeTakeFirstOrThrow())
}

/** Inserts an identity. If the subject has one, merges the keys into its data. */
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

/** Merges keys into the data of a user's identities at one provider. */
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

/** Maps a row to an identity. If SQL of an application stored data that is not an object, it counts as empty. */
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

/** Deletes an identity. The user stays, so the caller must check that another identity is left. */
export async function deleteIdentity(trx: Db, id: string): Promise<void> {
  await trx.deleteFrom('identities').where('id', '=', id).execute()
}

/** Removes the identity data of a deleted user, and obscures the subject (reference: Deletion). */
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

type Account = Pick<ExternalAccount, 'provider' | 'subject'>

/** Finds the identity of an external account without a lock. `undefined` if the account is unknown. */
export async function findExternalIdentity(db: Db, { provider, subject }: Account): Promise<Identity | undefined> {
  const row = await db
    .selectFrom('identities')
    .selectAll()
    .where('provider', '=', provider)
    .where('provider_id', '=', subject)
    .executeTakeFirst()
  return row && toIdentity(row)
}

export async function hasIdentitiesOf(db: Db, provider: string): Promise<boolean> {
  const query = db.selectFrom('identities').select('id').where('provider', '=', provider)
  return (await query.limit(1).executeTakeFirst()) !== undefined
}

/** Whether users have identities of this provider with another issuer. */
export async function hasIdentitiesOfOtherIssuer(db: Db, provider: string, issuer: string): Promise<boolean> {
  const query = db.selectFrom('identities').select('id').where('provider', '=', provider)
  const isOther = sql<boolean>`identity_data ->> 'iss' <> ${issuer}`
  return (await query.where(isOther).limit(1).executeTakeFirst()) !== undefined
}

/** Inserts the identity of an external account. @throws the unique violation of ACCOUNT_KEY if the account has one */
export function insertExternalIdentity(
  trx: Trx,
  userId: string,
  { provider, subject, data }: Pick<ExternalAccount, 'provider' | 'subject' | 'data'>,
  at: Date,
): Promise<Identity> {
  return insertIdentity(trx, {
    user_id: userId,
    provider,
    provider_id: subject,
    identity_data: { ...data },
    last_sign_in_at: at,
    created_at: at,
    updated_at: at,
  })
}

/** Merges the provider's current claims. Keeps earlier ones, because some providers send a name only once. */
export async function updateExternalIdentity(
  trx: Trx,
  id: string,
  data: ExternalAccount['data'],
  at: Date,
): Promise<void> {
  await trx
    .updateTable('identities')
    .set({
      identity_data: sql`identity_data || ${JSON.stringify(data)}::jsonb`,
      last_sign_in_at: at,
      updated_at: at,
    })
    .where('id', '=', id)
    .execute()
}

/** Deletes all identities of a user except `kept.id` and those of `kept.provider`, if it is given. */
export async function deleteOtherIdentities(
  trx: Trx,
  userId: string,
  kept: { readonly id: string; readonly provider?: 'phone' | undefined },
): Promise<void> {
  const others = trx.deleteFrom('identities').where('user_id', '=', userId).where('id', '<>', kept.id)
  await (kept.provider === undefined ? others : others.where('provider', '<>', kept.provider)).execute()
}

/** Deletes a user's identities without an address that a provider has verified. @returns whether any existed */
export async function deleteUnverifiedIdentities(trx: Trx, userId: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('identities')
    .where('user_id', '=', userId)
    .where('provider', 'not in', ['email', 'phone'])
    .where(sql<boolean>`NOT identity_data @> '{"email_verified": true}'`)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/**
 * Lists at most two users who own one of these trusted addresses. An unconfirmed own address does not count if the user has a
 * confirmed phone, because the phone alone proves who the user is. An identity's address counts if a provider has verified it.
 * Identities of the user's own email and phone do not count: SQL may have changed only the user's row, and an import or an
 * adopted database may contain any address. Pending sign-ups are not users.
 *
 * Anyone can sign up with another person's addresses. So an unclaimed account counts only if no other user does. Of several such
 * accounts, only the one of the first address counts. Otherwise a stranger could lock out the owner of the addresses.
 */
export async function listOwnersOfEmails(db: Db, emails: readonly string[]): Promise<readonly string[]> {
  if (emails.length === 0) return []
  const { rows } = await sql<{ id: string; is_claimed: boolean }>`
    SELECT o.id, bool_or(o.is_claimed) AS is_claimed FROM (
      SELECT u.id, u.email_confirmed_at IS NOT NULL OR u.claimed_at IS NOT NULL AS is_claimed, lower(u.email) AS email
      FROM ${sql.table('users')} u
      WHERE lower(u.email) = ANY(${emails}::text[]) AND u.staged_at IS NULL AND u.deleted_at IS NULL AND NOT u.is_sso_user
        AND (u.email_confirmed_at IS NOT NULL OR u.confirmed_at IS NULL)
      UNION ALL
      SELECT u.id, true, i.email FROM ${sql.table('identities')} i JOIN ${sql.table('users')} u ON u.id = i.user_id
      WHERE i.email = ANY(${emails}::text[]) AND i.provider NOT IN ('email', 'phone')
        AND i.identity_data @> '{"email_verified": true}'
        AND u.staged_at IS NULL AND u.deleted_at IS NULL AND NOT u.is_sso_user
    ) o
    GROUP BY o.id ORDER BY is_claimed DESC, min(array_position(${emails}::text[], o.email)), o.id LIMIT 2`.execute(db)
  const isOwner = (row: { readonly is_claimed: boolean }, place: number) => place === 0 || row.is_claimed
  return rows.filter(isOwner).map(({ id }) => id)
}
