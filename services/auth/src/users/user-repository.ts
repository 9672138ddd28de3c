import {
  type Insertable,
  type Kysely,
  type RawBuilder,
  type Selectable,
  sql,
  type Transaction,
  type Updateable,
} from 'kysely'
import type { AuthDatabase, UsersTable } from '../database.ts'
import { normaliseEmail } from './email-address.ts'
import { NO_TIME, toMetadata } from './stored-values.ts'
import type { User } from './user.ts'

type Database = Kysely<AuthDatabase>
type Row = Selectable<UsersTable>

/** Finds a user, staged or deleted ones included. */
export async function findUserById(db: Database, id: string): Promise<User | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
}

/** Finds the user who has an email or phone number, within one audience; staged ones included. */
export async function findUserByIdentifier(
  db: Database,
  aud: string,
  { kind, value }: UserIdentifier,
): Promise<User | undefined> {
  const query = db.selectFrom('users').selectAll().where(isIdentifiedBy({ kind, value })).where('aud', '=', aud)
  const row = await query.executeTakeFirst()
  return row && toUser(row)
}

/** Locks a user until the transaction ends. Users are locked before anything that belongs to them. */
export async function lockUserById(trx: Transaction<AuthDatabase>, id: string): Promise<User | undefined> {
  const row = await trx.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/** Locks whoever holds an email or a phone number, in any audience: identifiers are unique across audiences. */
export async function lockUserByIdentifier(
  trx: Transaction<AuthDatabase>,
  identifier: UserIdentifier,
): Promise<User | undefined> {
  const query = trx.selectFrom('users').selectAll().where(isIdentifiedBy(identifier))
  const row = await query.forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/**
 * The same where somebody has asked to show that the identifier is theirs. An email that an account has by the word of a
 * provider alone, which has not verified it, gives way: it may be a stranger's who waits for its owner to confirm it.
 */
export async function lockOwnerOfIdentifier(
  trx: Transaction<AuthDatabase>,
  identifier: UserIdentifier,
  at: Date,
): Promise<User | undefined> {
  const { kind, value } = identifier
  if (kind === 'email') await sql`SELECT ${sql.table('release_email')}(${value}, ${at})`.execute(trx)
  return lockUserByIdentifier(trx, identifier)
}

/** Finds whoever has an email or a phone number, in any audience; staged ones included. */
export async function findIdentifierHolder(
  db: Database,
  identifier: UserIdentifier,
): Promise<Pick<User, 'id' | 'stagedAt'> | undefined> {
  const query = db.selectFrom('users').select(['id', 'staged_at as stagedAt']).where(isIdentifiedBy(identifier))
  return query.executeTakeFirst()
}

/** Whether a user has an identifier. A staged user counts as nobody. */
export async function isHeld(db: Database, identifier: UserIdentifier): Promise<boolean> {
  const holder = await findIdentifierHolder(db, identifier)
  return holder !== undefined && holder.stagedAt === null
}

/** A normalised email or phone number. */
export interface UserIdentifier {
  readonly kind: 'email' | 'phone'
  readonly value: string
}

/**
 * Whether a user is known by an identifier. Nobody is known by the email of an SSO user: several of them may have one. A row may
 * have an email in mixed case.
 */
function isIdentifiedBy({ kind, value }: UserIdentifier): RawBuilder<boolean> {
  return kind === 'email' ? sql`(lower(email) = ${value} AND NOT is_sso_user)` : sql`phone = ${value}`
}

/** A new user. An id and times are made where none are given. */
export type NewUser = Omit<Insertable<UsersTable>, 'id'> & { readonly id?: string }

/** The indexes of which a duplicate email violates one, and that of phones. */
export const EMAIL_KEYS = ['users_email_partial_key', 'users_email_lower_key'] as const
export const PHONE_KEY = 'users_phone_key'

/** Inserts a user. Throws PostgreSQL's unique violation of one of EMAIL_KEYS or of PHONE_KEY on a duplicate. */
export async function insertUser(trx: Database, values: NewUser): Promise<User> {
  return toUser(await trx.insertInto('users').values(toNewRow(values)).returningAll().executeTakeFirstOrThrow())
}

/** What supabase/auth writes into columns without a default that the service does not read, or that hold nothing yet. */
export const BLANK = {
  instance_id: '00000000-0000-0000-0000-000000000000',
  confirmation_token: '',
  recovery_token: '',
  email_change_token_new: '',
  email_change: '',
} as const

function toNewRow(values: NewUser) {
  const moment = sql<string>`clock_timestamp()`
  const made = { id: sql<string>`gen_random_uuid()`, created_at: moment, updated_at: moment }
  return { ...BLANK, ...made, raw_app_meta_data: {}, raw_user_meta_data: {}, ...values }
}

/** Inserts a user, unless somebody has taken the email or phone at this very moment. */
export async function insertUnlessTaken(trx: Database, values: NewUser): Promise<User | undefined> {
  const insert = trx
    .insertInto('users')
    .values(toNewRow(values))
    .onConflict((conflict) => conflict.doNothing())
  const row = await insert.returningAll().executeTakeFirst()
  return row && toUser(row)
}

/** Changes the given columns of a user; `updated_at` is the caller's to give. */
export async function updateUser(trx: Database, id: string, changes: Updateable<UsersTable>): Promise<User> {
  return toUser(
    await trx.updateTable('users').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow(),
  )
}

/**
 * Bans a user for so many milliseconds from now, by the clock that bans are judged by; 0 ends a ban (reference: Bans).
 */
export async function updateBan(trx: Database, id: string, banMs: number): Promise<void> {
  const until = sql<string>`clock_timestamp() + make_interval(secs => ${banMs / 1_000})`
  await trx
    .updateTable('users')
    .set({ banned_until: banMs === 0 ? null : until })
    .where('id', '=', id)
    .execute()
}

/** Removes a user and all that belongs to them. */
export async function deleteUser(trx: Transaction<AuthDatabase>, id: string): Promise<void> {
  await trx.deleteFrom('users').where('id', '=', id).execute()
}

const WAYS_IN = ['sessions', 'mfa_factors', 'mfa_recovery_sets', 'webauthn_credentials', 'webauthn_challenges'] as const

/** Ends the sessions of a user, and takes their second factors and passkeys away. */
export async function deleteWaysIn(trx: Transaction<AuthDatabase>, userId: string): Promise<void> {
  for (const table of WAYS_IN) {
    await trx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}

/** Ends all by which a user could sign in or stay signed in: messages and flows too. */
export async function deleteBelongings(trx: Transaction<AuthDatabase>, userId: string): Promise<void> {
  await deleteWaysIn(trx, userId)
  for (const table of ['one_time_tokens', 'flow_state', 'sign_up_contents'] as const) {
    await trx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}

/** Removes a row that waits for its first one-time code. False when it has become a user meanwhile. */
export async function deleteStagedUser(trx: Transaction<AuthDatabase>, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('users')
    .where('id', '=', id)
    .where('staged_at', 'is not', null)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Maps a row to the domain's user. NULL and '' are the same to supabase/auth, and so they are here. */
export function toUser(row: Row): User {
  return {
    id: row.id,
    aud: row.aud ?? '',
    role: row.role ?? '',
    email: row.email ? normaliseEmail(row.email) : null,
    emailAsWritten: row.email || null,
    phone: row.phone || null,
    passwordHash: row.encrypted_password || null,
    emailConfirmedAt: row.email_confirmed_at,
    phoneConfirmedAt: row.phone_confirmed_at,
    confirmedAt: row.confirmed_at,
    invitedAt: row.invited_at,
    confirmationSentAt: row.confirmation_sent_at,
    recoverySentAt: row.recovery_sent_at,
    emailChange: row.email_change || null,
    emailChangeSentAt: row.email_change_sent_at,
    emailChangeConfirmStatus: row.email_change_confirm_status ?? 0,
    phoneChange: row.phone_change || null,
    phoneChangeSentAt: row.phone_change_sent_at,
    reauthenticationSentAt: row.reauthentication_sent_at,
    lastSignInAt: row.last_sign_in_at,
    appMetadata: toMetadata(row.raw_app_meta_data),
    userMetadata: toMetadata(row.raw_user_meta_data),
    bannedUntil: row.banned_until,
    deletedAt: row.deleted_at,
    isAnonymous: row.is_anonymous,
    isSsoUser: row.is_sso_user,
    stagedAt: row.staged_at,
    createdAt: row.created_at ?? NO_TIME,
    updatedAt: row.updated_at ?? NO_TIME,
  }
}
