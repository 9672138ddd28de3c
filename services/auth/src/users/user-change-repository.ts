import { type Insertable, sql, type Updateable } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Db, Trx } from '../database.ts'
import { CLAIM_NAMES, ownIdentityData } from '../identities/identity.ts'
import { listIdentities, upsertIdentity } from '../identities/identity-repository.ts'
import { NIL_UUID } from '../records/ids.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { IdentifierKind, UserIdentifier } from '../requests/fields.ts'
import { toUser, type User, type UsersTable } from './user.ts'

/** A new user. The id and times are generated if they are absent. */
type NewUser = Omit<Insertable<UsersTable>, 'id'> & { readonly id?: string }

/** The setting that decides what else a new password changes. */
export interface PasswordRules {
  readonly compatibility: Pick<CompatibilityOptions, 'clearSentTimesOnNewPassword'>
}

/** The columns that a new password changes: the hash, and the sent times if the profile clears them. */
export function passwordChange(config: PasswordRules, hash: string): Updateable<UsersTable> {
  return { encrypted_password: hash, ...clearedTimes(config) }
}

/** The sent times to clear after a new password or an accepted invitation. */
export function clearedTimes({ compatibility }: PasswordRules): Updateable<UsersTable> {
  return compatibility.clearSentTimesOnNewPassword ? NOTHING_SENT : {}
}

const NOTHING_SENT = {
  confirmation_sent_at: null,
  recovery_sent_at: null,
  email_change_sent_at: null,
  phone_change_sent_at: null,
  reauthentication_sent_at: null,
} as const

/** The unique indexes of emails. A duplicate violates one of them. */
export const EMAIL_KEYS = ['users_email_partial_key', 'users_email_lower_key'] as const
/** The unique index of phone numbers. */
export const PHONE_KEY = 'users_phone_key'

/** Inserts a user. @throws the unique violation of one of EMAIL_KEYS or of PHONE_KEY for a duplicate */
export async function insertUser(trx: Db, values: NewUser): Promise<User> {
  return toUser(await trx.insertInto('users').values(toNewRow(values)).returningAll().executeTakeFirstOrThrow())
}

/** Values of supabase/auth for columns without a default that this service does not read or that are still empty. */
export const BLANK = {
  instance_id: NIL_UUID,
  confirmation_token: '',
  recovery_token: '',
  email_change_token_new: '',
  email_change: '',
} as const

function toNewRow(values: NewUser) {
  const moment = sql<string>`clock_timestamp()`
  const generated = { id: sql<string>`gen_random_uuid()`, created_at: moment, updated_at: moment }
  return { ...BLANK, ...generated, raw_app_meta_data: {}, raw_user_meta_data: {}, ...values }
}

/** Inserts a user. Returns `undefined` if another transaction has just taken the email or phone. */
export async function insertUnlessTaken(trx: Db, values: NewUser): Promise<User | undefined> {
  const insert = trx
    .insertInto('users')
    .values(toNewRow(values))
    // The unique index of the email or phone decides.
    .onConflict((conflict) => conflict.doNothing())
  const row = await insert.returningAll().executeTakeFirst()
  return row && toUser(row)
}

/** Changes columns of a user. The caller must pass `updated_at`. @throws Error if the id is unknown */
export async function updateUser(trx: Db, id: string, changes: Updateable<UsersTable>): Promise<User> {
  return toUser(
    await trx.updateTable('users').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow(),
  )
}

/** Bans a user for `banMs` from now, by the database's clock. 0 ends a ban (reference: Bans). */
export async function updateBan(trx: Db, id: string, banMs: number): Promise<void> {
  const until = sql<string>`clock_timestamp() + make_interval(secs => ${banMs / 1_000})`
  await trx
    .updateTable('users')
    .set({ banned_until: banMs === 0 ? null : until })
    .where('id', '=', id)
    .execute()
}

/** Deletes a user and all dependent rows. */
export async function deleteUser(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('users').where('id', '=', id).execute()
}

const WAYS_IN = ['sessions', 'mfa_factors', 'mfa_recovery_sets', 'webauthn_credentials', 'webauthn_challenges'] as const

/** Deletes the sessions, second factors and passkeys of a user. */
export async function deleteWaysIn(trx: Trx, userId: string): Promise<void> {
  for (const table of WAYS_IN) {
    await trx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}

/** Deletes every way to sign in or stay signed in, including messages and flows. */
export async function deleteBelongings(trx: Trx, userId: string): Promise<void> {
  await deleteWaysIn(trx, userId)
  for (const table of ['one_time_tokens', 'flow_state', 'sign_up_contents'] as const) {
    await trx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
  // A linking flow has its user as the target. In an adopted database it has no session, so it must be deleted here.
  await trx.deleteFrom('flow_state').where('linking_target_id', '=', userId).execute()
}

/** Deletes a pending sign-up. Returns `false` if it has become a user in the meantime. */
export async function deletePendingSignUp(trx: Trx, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('users')
    .where('id', '=', id)
    .where('staged_at', 'is not', null)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Finds when a user changed to their email or phone. `undefined` if it is the first one, or an admin set it. */
export async function findAddressChange(db: Db, userId: string, kind: IdentifierKind): Promise<Timestamp | undefined> {
  const query = db.selectFrom('address_changes').select('changed_at').where('user_id', '=', userId)
  return (await query.where('kind', '=', kind).executeTakeFirst())?.changed_at
}

/**
 * Records that a user has changed their email or phone. The first address of an anonymous user is not recorded, because the
 * account has no older way to sign in.
 * @param user the user before the change
 */
export async function upsertAddressChange(
  trx: Trx,
  { id, isAnonymous }: Pick<User, 'id' | 'isAnonymous'>,
  { kind, at }: { readonly kind: IdentifierKind; readonly at: Date },
): Promise<void> {
  if (isAnonymous) return
  await trx
    .insertInto('address_changes')
    .values({ user_id: id, kind, changed_at: at })
    .onConflict((conflict) => conflict.columns(['user_id', 'kind']).doUpdateSet({ changed_at: at }))
    .execute()
}

/** Deletes the record of a change, because an admin has set the address. */
export async function deleteAddressChange(trx: Trx, userId: string, kind: IdentifierKind): Promise<void> {
  await trx.deleteFrom('address_changes').where('user_id', '=', userId).where('kind', '=', kind).execute()
}

/** Metadata in a request of a user or an admin. `null` deletes a key. */
type SentMetadata = Readonly<Record<string, unknown>>

/**
 * Returns the names in sent metadata that a provider may also write, so their number is limited. Includes deleted keys, because
 * the provider must not restore them.
 */
export function chosenNames(sent: SentMetadata | undefined): string[] {
  return Object.keys(sent ?? {}).filter((name) => CLAIM_NAMES.has(name))
}

/** Records which metadata a user or an admin has written, so that no provider overwrites it (reference: Metadata). */
export async function rememberChosen(trx: Trx, userId: string, sent: SentMetadata | undefined): Promise<void> {
  const names = chosenNames(sent)
  if (names.length === 0) return
  const all = sql<string[]>`ARRAY(SELECT DISTINCT unnest(chosen_metadata || ${names}::text[]) ORDER BY 1)`
  await trx.updateTable('users').set({ chosen_metadata: all }).where('id', '=', userId).execute()
}

/** Returns a provider's claims without those that the user or an admin has set. In the profile supabase, returns all claims. */
export async function getUnchosenClaims(
  trx: Trx,
  { compatibility }: { readonly compatibility: Pick<CompatibilityOptions, 'keepChosenMetadata'> },
  userId: string,
  claims: SentMetadata,
): Promise<SentMetadata> {
  if (!compatibility.keepChosenMetadata) return claims
  const user = await trx.selectFrom('users').select('chosen_metadata').where('id', '=', userId).executeTakeFirst()
  const chosen = new Set(user?.chosen_metadata)
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !chosen.has(name)))
}

/** The identity of a user's own email or phone. `at` is the time of the change. */
interface OwnIdentity {
  readonly identifier: UserIdentifier
  readonly isVerified: boolean
  readonly at: Date
}

/**
 * Sets the address of the identity of a user's own email or phone, or inserts the identity. Lists its provider in the user's app
 * metadata, where `provider` is the first of `providers` (reference: User record).
 * @param user the locked user in its current state
 */
export async function setOwnIdentity(
  trx: Trx,
  user: Pick<User, 'id' | 'appMetadata'>,
  { identifier: { kind, value }, isVerified, at }: OwnIdentity,
): Promise<User> {
  const { id } = user
  const verified = { [`${kind}_verified`]: isVerified }
  await upsertIdentity(
    trx,
    {
      user_id: id,
      provider: kind,
      provider_id: id,
      identity_data: { ...ownIdentityData(kind, { userId: id, value }, {}), ...verified },
      updated_at: at,
    },
    { [kind]: value, ...verified },
  )
  return updateProviders(trx, user)
}

/** Lists the providers of a user's identities in their app metadata, oldest first. @param user locked and current */
export async function updateProviders(trx: Trx, { id, appMetadata }: Pick<User, 'id' | 'appMetadata'>): Promise<User> {
  const providers = [...new Set((await listIdentities(trx, id)).map(({ provider }) => provider))]
  return updateUser(trx, id, { raw_app_meta_data: { ...appMetadata, provider: providers[0], providers } })
}
