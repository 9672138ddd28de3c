import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, IdentitiesTable, Trx } from '../database.ts'
import { NO_TIME } from '../records/timestamp.ts'
import { type ExternalAccount, type Identity, toMetadata } from './identity.ts'

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

type Account = Pick<ExternalAccount, 'provider' | 'subject'>

/** Finds the identity of an external account by provider and subject, without a lock. Undefined for an unknown account. */
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

/** Whether users have identities of a provider whose data name another issuer than this one. */
export async function hasIdentitiesOfOtherIssuer(db: Db, provider: string, issuer: string): Promise<boolean> {
  const query = db.selectFrom('identities').select('id').where('provider', '=', provider)
  const isOther = sql<boolean>`identity_data ->> 'iss' <> ${issuer}`
  return (await query.where(isOther).limit(1).executeTakeFirst()) !== undefined
}

/** Inserts the identity of an external account. @throws the unique violation of ACCOUNT_KEY when the account has an identity */
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

/** Merges the provider's current claims. Earlier claims stay, since some providers send a name only the first time. */
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

/** Removes every identity of a user but one, and but those of a provider where one is named. */
export async function deleteOtherIdentities(
  trx: Trx,
  userId: string,
  kept: { readonly id: string; readonly provider?: 'phone' | undefined },
): Promise<void> {
  const others = trx.deleteFrom('identities').where('user_id', '=', userId).where('id', '<>', kept.id)
  await (kept.provider === undefined ? others : others.where('provider', '<>', kept.provider)).execute()
}

/** Removes the identities of a user at providers that have not verified an address. @returns whether there were any */
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
 * Lists at most two users who own one of some trusted addresses. An unconfirmed own address does not count where the user has a
 * confirmed phone, because the phone alone proves who the user is. An address in an identity counts if a provider has verified
 * it. The identities of a user's own email and phone do not count: SQL may have changed the user's row alone, and an import or an
 * adopted database may hold any address there. Pending sign-ups are no users yet.
 *
 * Anybody can sign up with addresses of another person. So an unclaimed account counts only if no other user does, and of several
 * such accounts the account of the first address. Otherwise a stranger could keep the owner of the addresses out.
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
