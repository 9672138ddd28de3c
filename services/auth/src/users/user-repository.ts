import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AuthTables, Db, Trx } from '../database.ts'
import { listIdentities } from '../identities/identity-repository.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { readTypedPhone, type UserIdentifier } from '../requests/fields.ts'
import { isPendingSignUp, type Manager, requireUser, toUser, type User } from './user.ts'

/** Finds a user, a deleted user or a pending sign-up. `undefined` if the id is unknown. */
export async function findUserById(db: Db, id: string): Promise<User | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
}

/** In an adopted database, users may share an email in different cases. It identifies the oldest confirmed one. */
const OLDEST_CONFIRMED = sql`email_confirmed_at IS NULL, created_at, id`

/**
 * Finds the user or pending sign-up of an audience by email or phone. Returns `undefined` if the address is unknown, or if it
 * belongs to an SSO user, who signs in only through the identity provider.
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
 * Locks a user until the transaction ends, including pending sign-ups and deleted users. Returns `undefined` if the id is
 * unknown.
 *
 * Lock order: the user before all dependent rows, so that two transactions cannot deadlock.
 */
export async function lockUserById(trx: Trx, id: string): Promise<User | undefined> {
  const row = await trx.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/**
 * Locks the owner of an email or phone number, in any audience, because identifiers are unique across audiences. Returns
 * `undefined` if there is no owner.
 */
export async function lockIdentifierOwner(trx: Trx, identifier: UserIdentifier): Promise<User | undefined> {
  const query = trx.selectFrom('users').selectAll().where(isIdentifiedBy(identifier))
  const row = await query.orderBy(OLDEST_CONFIRMED).limit(1).forNoKeyUpdate().executeTakeFirst()
  return row && toUser(row)
}

/** Takes an email from an account that got it from a provider without verification, if there is one. */
export async function callReleaseEmail(trx: Trx, email: string, at: Date): Promise<void> {
  await sql`SELECT ${sql.table('release_email')}(${email}, ${at})`.execute(trx)
}

/**
 * Matches accounts that were never confirmed, claimed or used. Anyone can create one with another person's address. They lose the
 * address to a user who proves it (reference: Unused accounts). An admin has vouched for an invited or banned account.
 */
const IS_UNUSED = sql<boolean>`(confirmed_at IS NULL AND claimed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL
  AND last_sign_in_at IS NULL AND banned_until IS NULL AND deleted_at IS NULL AND NOT is_sso_user)`

/** The owner of an identifier. If `isUnused`, the account loses the identifier to a user who proves it. */
interface IdentifierOwner extends Pick<User, 'id' | 'pendingSince'> {
  readonly isUnused: boolean
}

/** Finds the owner of an email or phone number in any audience, or a pending sign-up. `undefined` if there is none. */
export async function findIdentifierOwner(db: Db, identifier: UserIdentifier): Promise<IdentifierOwner | undefined> {
  const query = db.selectFrom('users').select(['id', 'staged_at as pendingSince', IS_UNUSED.as('isUnused')])
  return query.where(isIdentifiedBy(identifier)).orderBy(OLDEST_CONFIRMED).limit(1).executeTakeFirst()
}

/** Whether an identifier has an owner that blocks others. Pending sign-ups and unused accounts do not. */
export async function isIdentifierKept(db: Db, identifier: UserIdentifier): Promise<boolean> {
  const owner = await findIdentifierOwner(db, identifier)
  return owner !== undefined && owner.pendingSince === null && !owner.isUnused
}

/**
 * Takes an email or phone from an unused account, with its identity, its messages, and the content of their requests.
 * @returns the account; `undefined` if no such account has the identifier
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
 * Matches the rows of an identifier. The email of an SSO user does not identify them, because several SSO users may share it.
 * Their phone does, because it is unique. A row may have an email in mixed case.
 */
function isIdentifiedBy({ kind, value }: UserIdentifier): RawBuilder<boolean> {
  return kind === 'email' ? sql`(lower(email) = ${value} AND NOT is_sso_user)` : sql`phone = ${value}`
}

/** Whether a user has a password. `false` if the id is unknown. */
export async function hasPassword(db: Db, id: string): Promise<boolean> {
  return Boolean((await findUserById(db, id))?.passwordHash)
}

/** A user who may sign in with a password, and the stored hash. */
export interface PasswordUser {
  readonly id: string
  /** `null` for a user without a password. */
  readonly passwordHash: string | null
  /** Whether the identifier of the sign-in is confirmed. */
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

/** Finds the user who may sign in with an identifier. `undefined` if none exists, or it is pending or deleted. */
export async function findPasswordUser(pools: Pools, query: PasswordUserQuery): Promise<PasswordUser | undefined> {
  return pools.read.first(query.kind === 'email' ? findPasswordUserByEmail : findPasswordUserByPhone, query)
}

export interface ManagedUser {
  readonly userId: string
  /** The header X-JWT-AUD, which selects an audience (reference: Audience). `undefined` selects all audiences. */
  readonly audience: string | undefined
}

/** Locks the user of an admin's request. Finds deleted users, but not pending sign-ups. */
export async function lockManagedUser(trx: Trx, { userId, audience }: ManagedUser, manager: Manager): Promise<User> {
  const locked = await lockUserById(trx, userId)
  const isNamed = locked && !isPendingSignUp(locked) && (audience === undefined || locked.audience === audience)
  const user = requireUser(isNamed ? locked : undefined)
  manager.requireMayManage(user)
  return user
}

/**
 * Whether an account is unclaimed. A stranger may have created it with another person's address, so a user who confirms the
 * address takes it over. A claimed account keeps its values, even if its addresses change. An account becomes claimed by its
 * first confirmation, by an admin who creates it, or by a provider that creates it without an address. It then stays claimed.
 * @param user the user before the confirmation
 */
export async function isUnclaimed(db: Db, { id, confirmedAt }: Pick<User, 'id' | 'confirmedAt'>): Promise<boolean> {
  if (confirmedAt !== null) return false
  const row = await db.selectFrom('users').select('claimed_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.claimed_at === null
}

/**
 * Whether a provider has given a user their email without verification. The user may be a stranger who waits for the owner of the
 * email to confirm it. The SQL function `release_email` applies the same rule.
 */
export async function hasClaimedEmail(db: Db, user: User): Promise<boolean> {
  if (user.email === null || user.emailConfirmedAt !== null || isPendingSignUp(user)) return false
  const providers = (await listIdentities(db, user.id)).map(({ provider }) => provider)
  return !providers.includes('email') && providers.some((provider) => provider !== 'phone')
}

/** Whether a user or pending sign-up of any audience has a phone number, or a pending change to it. */
export async function isPhoneStored(db: Db, phone: string): Promise<boolean> {
  const users = db.selectFrom('users').select(sql`1`.as('one')).where('phone', '=', phone)
  const changes = db
    .selectFrom('one_time_tokens')
    .select(sql`1`.as('one'))
    .where('relates_to', '=', phone)
    .where('kind', '=', 'phone_change')
  return (await users.unionAll(changes).limit(1).executeTakeFirst()) !== undefined
}

/** Whether a user has a second factor with this phone number. */
export async function hasFactorPhone(
  db: Db,
  { userId, phone }: { readonly userId: string; readonly phone: string },
): Promise<boolean> {
  const factors = db.selectFrom('mfa_factors').select('id').where('user_id', '=', userId).where('phone', '=', phone)
  return (await factors.limit(1).executeTakeFirst()) !== undefined
}

/** Stored phone numbers with several typed forms. */
interface PhonePairs {
  /** The number of users whose parsed number is another user's number. */
  readonly count: number
  /** The ids of two users of a pair, or `undefined` if there is no pair. */
  readonly first: readonly [string, string] | undefined
}

const PAGE_ROWS = 10_000

/**
 * Counts users whose parsed phone is another user's number (reference: Phone numbers). Reads all phones through the index, in
 * pages. Pending sign-ups do not count.
 */
export async function countPhonePairs(db: Db): Promise<PhonePairs> {
  /** Users whose parsed number differs from the stored one, by parsed number. */
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
