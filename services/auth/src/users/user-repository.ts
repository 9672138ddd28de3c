import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AuthTables, Db, Trx } from '../database.ts'
import { listIdentities } from '../identities/identity-repository.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { readTypedPhone, type UserIdentifier } from '../requests/fields.ts'
import { isPendingSignUp, type Manager, requireUser, toUser, type User } from './user.ts'

/** Finds a user, also a deleted one and a pending sign-up; undefined where nobody has the id. */
export async function findUserById(db: Db, id: string): Promise<User | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
}

/** In an adopted database several users may have an email in different cases: it identifies the oldest one who has confirmed. */
const OLDEST_CONFIRMED = sql`email_confirmed_at IS NULL, created_at, id`

/**
 * Finds the user of an audience by email or phone number, also a pending sign-up. Undefined if nobody has the address, or if an
 * SSO user has it, who signs in by the identity provider alone.
 */
export async function findUserByIdentifier(
  db: Db,
  audience: string,
  { kind, value }: UserIdentifier,
): Promise<User | undefined> {
  const query = db.selectFrom('users').selectAll().where(isIdentifiedBy({ kind, value })).where('aud', '=', audience)
  const row = await query.where('is_sso_user', '=', false).orderBy(OLDEST_CONFIRMED).limit(1).executeTakeFirst()
  return row && toUser(row)
}

/**
 * Locks a user until the transaction ends; undefined where nobody has the id. Also finds pending sign-ups and deleted users.
 *
 * Lock order: the user before anything that belongs to them, so that two transactions never wait for each other.
 */
export async function lockUserById(trx: Trx, id: string): Promise<User | undefined> {
  const row = await trx.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/**
 * Locks the owner of an email or a phone number, in any audience: identifiers are unique across audiences. Undefined where
 * nobody has it.
 */
export async function lockIdentifierOwner(trx: Trx, identifier: UserIdentifier): Promise<User | undefined> {
  const query = trx.selectFrom('users').selectAll().where(isIdentifiedBy(identifier))
  const row = await query.orderBy(OLDEST_CONFIRMED).limit(1).forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/** Takes an email from the account to which a provider has given it without verifying it, if there is such an account. */
export async function callReleaseEmail(trx: Trx, email: string, at: Date): Promise<void> {
  await sql`SELECT ${sql.table('release_email')}(${email}, ${at})`.execute(trx)
}

/**
 * Matches accounts that were never confirmed, claimed or used: anybody can sign up with the address of another person. They give
 * their address up to a user who proves it (reference: Unused accounts). An admin has spoken for an invited or a banned one.
 */
const IS_UNUSED = sql<boolean>`(confirmed_at IS NULL AND claimed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL
  AND last_sign_in_at IS NULL AND banned_until IS NULL AND deleted_at IS NULL AND NOT is_sso_user)`

/** The owner of an identifier. `isUnused`: the account gives the identifier up to a user who proves it. */
interface IdentifierOwner extends Pick<User, 'id' | 'pendingSince'> {
  readonly isUnused: boolean
}

/** Finds the owner of an email or a phone number, in any audience, also a pending sign-up; undefined where nobody has it. */
export async function findIdentifierOwner(db: Db, identifier: UserIdentifier): Promise<IdentifierOwner | undefined> {
  const query = db.selectFrom('users').select(['id', 'staged_at as pendingSince', IS_UNUSED.as('isUnused')])
  return query.where(isIdentifiedBy(identifier)).orderBy(OLDEST_CONFIRMED).limit(1).executeTakeFirst()
}

/** Whether an identifier has an owner who keeps it from others. A pending sign-up and an unused account do not. */
export async function isIdentifierKept(db: Db, identifier: UserIdentifier): Promise<boolean> {
  const owner = await findIdentifierOwner(db, identifier)
  return owner !== undefined && owner.pendingSince === null && !owner.isUnused
}

/**
 * Takes an email or a phone from an unused account, with its identity, the messages to it, and the content of their requests.
 * @returns the account; undefined where no such account has the identifier
 */
export async function deleteUnusedIdentifier(
  trx: Trx,
  { kind, value }: UserIdentifier,
  at: Date,
): Promise<User | undefined> {
  const update = trx
    .updateTable('users')
    .set({ [kind]: null, updated_at: at })
    .where(isIdentifiedBy({ kind, value }))
  const row = await update.where(IS_UNUSED).returningAll().executeTakeFirst()
  if (!row) return undefined
  const tokens = trx.deleteFrom('one_time_tokens').where('user_id', '=', row.id)
  await tokens.where('relates_to', '=', value).execute()
  await trx.deleteFrom('identities').where('user_id', '=', row.id).where('provider', '=', kind).execute()
  await trx.deleteFrom('sign_up_contents').where('user_id', '=', row.id).execute()
  return toUser(row)
}

/**
 * Matches the rows of an identifier. The email of an SSO user identifies nobody, since several SSO users may have the same. Their
 * phone is taken, for it is unique. A row may have an email in mixed case.
 */
function isIdentifiedBy({ kind, value }: UserIdentifier): RawBuilder<boolean> {
  return kind === 'email' ? sql`(lower(email) = ${value} AND NOT is_sso_user)` : sql`phone = ${value}`
}

/** Whether a user has a password. False where nobody has the id. */
export async function hasPassword(db: Db, id: string): Promise<boolean> {
  return Boolean((await findUserById(db, id))?.passwordHash)
}

/** A user who may sign in by password, with the stored hash. */
export interface PasswordUser {
  readonly id: string
  /** Null for a user without a password. */
  readonly passwordHash: string | null
  /** Whether the identifier that they sign in with is confirmed. */
  readonly isConfirmed: boolean
  readonly bannedUntil: Timestamp | null
}

interface PasswordUserQuery extends UserIdentifier {
  readonly audience: string
}

const findPasswordUserByEmail = prepare<PasswordUserQuery, PasswordUser, AuthTables>(
  'find_password_user_by_email',
  (p, db) =>
    db
      .selectFrom('users')
      .select(['id', 'encrypted_password as passwordHash', 'banned_until as bannedUntil'])
      .select((e) => e('email_confirmed_at', 'is not', null).$castTo<boolean>().as('isConfirmed'))
      .where(sql<boolean>`lower(email) = ${p.value} AND NOT is_sso_user`)
      .where('aud', '=', p.audience)
      .where('staged_at', 'is', null)
      .where('deleted_at', 'is', null)
      .orderBy(OLDEST_CONFIRMED)
      .limit(1),
)

const findPasswordUserByPhone = prepare<PasswordUserQuery, PasswordUser, AuthTables>(
  'find_password_user_by_phone',
  (p, db) =>
    db
      .selectFrom('users')
      .select(['id', 'encrypted_password as passwordHash', 'banned_until as bannedUntil'])
      .select((e) => e('phone_confirmed_at', 'is not', null).$castTo<boolean>().as('isConfirmed'))
      .where('phone', '=', p.value)
      .where('is_sso_user', '=', false)
      .where('aud', '=', p.audience)
      .where('staged_at', 'is', null)
      .where('deleted_at', 'is', null),
)

/** Finds the user who may sign in by an identifier, neither pending nor deleted; undefined where there is none. */
export async function findPasswordUser(pools: Pools, query: PasswordUserQuery): Promise<PasswordUser | undefined> {
  return pools.read.first(query.kind === 'email' ? findPasswordUserByEmail : findPasswordUserByPhone, query)
}

export interface ManagedUser {
  readonly userId: string
  /** The header X-JWT-AUD: then users of other audiences are not found (reference: Audience). Undefined finds any user. */
  readonly audience: string | undefined
}

/** Locks the user of an admin's request: also a deleted user, but not a pending sign-up. */
export async function lockManagedUser(trx: Trx, { userId, audience }: ManagedUser, manager: Manager): Promise<User> {
  const locked = await lockUserById(trx, userId)
  const isNamed = locked && !isPendingSignUp(locked) && (audience === undefined || locked.audience === audience)
  const user = requireUser(isNamed ? locked : undefined)
  manager.requireMayManage(user)
  return user
}

/**
 * Whether an account is unclaimed. A stranger may have made it with the address of another person, so a user who confirms the
 * address takes the account over. A claimed account keeps its values, even when its addresses change. An account becomes
 * claimed by its first confirmation, by an admin who makes it, or by a provider that makes it without an address. It then stays
 * claimed.
 * @param user as they were before the confirmation
 */
export async function isUnclaimed(db: Db, { id, confirmedAt }: Pick<User, 'id' | 'confirmedAt'>): Promise<boolean> {
  if (confirmedAt !== null) return false
  const row = await db.selectFrom('users').select('claimed_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.claimed_at === null
}

/**
 * Whether a provider has given a user their email without verifying it. The user may be a stranger, who waits for the owner of
 * the email to confirm it. The SQL function `release_email` asks the same.
 */
export async function hasClaimedEmail(db: Db, user: User): Promise<boolean> {
  if (user.email === null || user.emailConfirmedAt !== null || isPendingSignUp(user)) return false
  const providers = (await listIdentities(db, user.id)).map(({ provider }) => provider)
  return !providers.includes('email') && providers.some((provider) => provider !== 'phone')
}

/** Whether a user or a pending sign-up of any audience has a phone number, or a change to it waits for its code. */
export async function isPhoneStored(db: Db, phone: string): Promise<boolean> {
  const users = db.selectFrom('users').select(sql`1`.as('one')).where('phone', '=', phone)
  const changes = db
    .selectFrom('one_time_tokens')
    .select(sql`1`.as('one'))
    .where('relates_to', '=', phone)
    .where('kind', '=', 'phone_change')
  return (await users.unionAll(changes).limit(1).executeTakeFirst()) !== undefined
}

/** Whether a user has a second factor with a phone number. */
export async function hasFactorPhone(
  db: Db,
  { userId, phone }: { readonly userId: string; readonly phone: string },
): Promise<boolean> {
  const factors = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('phone', '=', phone)
  return (await factors.limit(1).executeTakeFirst()) !== undefined
}

/** Stored phone numbers that were typed in several forms. */
interface PhonePairs {
  /** Users whose number is another one's when it is parsed. */
  readonly count: number
  /** The ids of two users of a pair; undefined where there is no pair. */
  readonly first: readonly [string, string] | undefined
}

const PAGE_ROWS = 10_000

/**
 * Counts users whose phone is the number of another user when it is parsed (reference: Phone numbers). It reads all phones by the
 * index, some at a time. Pending sign-ups do not count.
 */
export async function countPhonePairs(db: Db): Promise<PhonePairs> {
  /** The users whose parsed number differs from the stored number. */
  const owners = new Map<string, string>()
  let count = 0
  let first: PhonePairs['first']
  for (let after = ''; ; ) {
    const page = await listPhones(db, after)
    const odd = page.flatMap(({ id, phone }) => {
      const parsed = readTypedPhone(phone)?.parsed
      return parsed === undefined || parsed === phone ? [] : { id, parsed }
    })
    const stored = await findOwners(
      db,
      odd.map(({ parsed }) => parsed),
    )
    for (const { id, parsed } of odd) {
      const other = stored.get(parsed) ?? owners.get(parsed)
      owners.set(parsed, id)
      if (other === undefined) continue
      count += 1
      first ??= [id, other]
    }
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_ROWS) return { count, first }
    after = last.phone
  }
}

interface StoredPhone {
  readonly id: string
  readonly phone: string
}

function listPhones(db: Db, after: string): Promise<StoredPhone[]> {
  return db
    .selectFrom('users')
    .select(['id', 'phone'])
    .where('phone', '>', after)
    .where('staged_at', 'is', null)
    .orderBy('phone')
    .limit(PAGE_ROWS)
    .$narrowType<{ phone: string }>()
    .execute()
}

async function findOwners(db: Db, phones: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (phones.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'phone'])
    .where(sql<boolean>`phone = ANY (${phones}::text[])`)
    .where('staged_at', 'is', null)
    .$narrowType<{ phone: string }>()
    .execute()
  return new Map(rows.map(({ id, phone }) => [phone, id]))
}
