import { columns } from '@trestle/database/batches/columns.ts'
import { sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { type ImportedUser, identityKey } from './imported-user.ts'
import { BLANK } from './user-change-repository.ts'

/** Finds users with the ids, emails, phones or identities of these users. Pending sign-ups do not count. */
export async function findOwners(db: Db, users: readonly ImportedUser[]): Promise<Owners> {
  const owners = noOwners()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'phone', 'is_sso_user', sql<string | null>`lower(email)`.as('email')])
    .select([
      'email_confirmed_at as emailConfirmedAt',
      'phone_confirmed_at as phoneConfirmedAt',
      'created_at as createdAt',
    ])
    // In an adopted database, users may share an email in different cases. The oldest confirmed user counts.
    .orderBy(sql`email_confirmed_at IS NULL DESC, created_at DESC, id DESC`)
    .where('staged_at', 'is', null)
    .where(hasAnyOf(users))
    .execute()
  for (const { id, email, phone, is_sso_user: isSso, emailConfirmedAt, phoneConfirmedAt, createdAt } of rows) {
    owners.ids.set(id, { email, phone, createdAt: createdAt === null ? undefined : new Date(createdAt) })
    if (email !== null && !isSso) owners.emails.set(email, { id, isConfirmed: emailConfirmedAt !== null })
    if (phone !== null) owners.phones.set(phone, { id, isConfirmed: phoneConfirmedAt !== null })
  }
  const identities = users.flatMap((user) => user.identities)
  const wanted = columns(identities, { provider: 'text', provider_id: 'text' })
  const taken = await db
    .selectFrom('identities')
    .select(['provider', 'provider_id', 'user_id'])
    .where(sql<boolean>`(provider, provider_id) IN (SELECT * FROM unnest(${wanted}))`)
    .execute()
  for (const identity of taken) owners.identities.set(identityKey(identity), identity.user_id)
  return owners
}

/**
 * Inserts users with their identities. Deletes pending sign-ups with the same identifiers.
 *
 * Lock order: by email, so that two imports of the same users do not deadlock.
 */
export async function insertImportedUsers(trx: Trx, fresh: readonly ImportedUser[]): Promise<void> {
  const users = fresh.toSorted(compareEmails)
  const [first] = users
  if (first === undefined) return
  const columns = sql.join(Object.keys(first.row).map((name) => sql.ref(name)))
  await trx.deleteFrom('users').where('staged_at', 'is not', null).where(hasAnyOf(users)).execute()
  // All rows are one parameter, because a parameter per value would exceed the limit of a statement.
  await sql`
    INSERT INTO ${sql.table('users')} (${columns}, keep_unconfirmed, ${sql.raw(Object.keys(BLANK).join())})
    SELECT ${columns}, true, ${sql.join(Object.values(BLANK).map((value) => sql.lit(value)))} FROM jsonb_populate_recordset(
      NULL::${sql.table('users')}, ${JSON.stringify(users.map(({ row }) => row))}::jsonb)`.execute(trx)
  await insertContents(trx, users)
  const identities = users.flatMap((user) => user.identities.map((identity) => ({ ...identity, user_id: user.row.id })))
  await sql`
    INSERT INTO ${sql.table('identities')} (${sql.raw(IDENTITY_COLUMNS)})
    SELECT ${sql.raw(IDENTITY_COLUMNS)} FROM jsonb_populate_recordset(
      NULL::${sql.table('identities')}, ${JSON.stringify(identities)}::jsonb)`.execute(trx)
}

/**
 * Records the values of unconfirmed accounts as content of a sign-up (reference: Content of a sign-up). In the other program, a
 * stranger may have signed up with another person's address.
 */
async function insertContents(trx: Trx, users: readonly ImportedUser[]): Promise<void> {
  await sql`
    INSERT INTO ${sql.table('sign_up_contents')} (user_id, kind, aud, data, password_hash)
    SELECT u.id, m.kind, u.aud, u.raw_user_meta_data, u.encrypted_password
    FROM ${sql.table('users')} u, LATERAL (VALUES ('confirmation', u.email), ('sms', u.phone)) AS m (kind, address)
    WHERE u.id = ANY (${users.map(({ row }) => row.id)}::uuid[]) AND m.address IS NOT NULL
      AND u.email_confirmed_at IS NULL AND u.phone_confirmed_at IS NULL AND u.claimed_at IS NULL
      AND u.invited_at IS NULL AND NOT u.is_anonymous AND NOT u.is_sso_user`.execute(trx)
}

function compareEmails(a: ImportedUser, b: ImportedUser): number {
  return (a.row.email ?? '') < (b.row.email ?? '') ? -1 : 1
}

const IDENTITY_COLUMNS = 'user_id, provider, provider_id, identity_data, last_sign_in_at, created_at, updated_at'

function hasAnyOf(users: readonly ImportedUser[]) {
  const ids = users.map(({ row }) => row.id)
  const emails = users.flatMap(({ row }) => row.email ?? [])
  const phones = users.flatMap(({ row }) => row.phone ?? [])
  return sql<boolean>`(id = ANY (${ids}::uuid[]) OR (lower(email) = ANY (${emails}::text[]) AND NOT is_sso_user)
    OR phone = ANY (${phones}::text[]))`
}

interface AddressOwner {
  readonly id: string
  readonly isConfirmed: boolean
}

/** The values that distinguish a stored user from another one with the same id. */
interface IdOwner {
  readonly email: string | null
  readonly phone: string | null
  readonly createdAt: Date | undefined
}

/** The owners of all values that must be unique to a user. */
export interface Owners {
  readonly ids: Map<string, IdOwner>
  readonly emails: Map<string, AddressOwner>
  readonly phones: Map<string, AddressOwner>
  /** The ids of users by `identityKey`. */
  readonly identities: Map<string, string>
}

/** The decision about a line: insert its user, keep the stored user unchanged, or refuse the line. */
export type LineVerdict =
  | { readonly verdict: 'new' }
  /** The user exists, because an earlier run was interrupted or the line occurs twice. */
  | { readonly verdict: 'present' }
  | { readonly verdict: 'refused'; readonly reason: string }

export function noOwners(): Owners {
  return { ids: new Map(), emails: new Map(), phones: new Map(), identities: new Map() }
}

/** Adds the owners of a batch to the owners of earlier batches. */
export function addOwners(owners: Owners, found: Owners): void {
  for (const [id, owner] of found.ids) owners.ids.set(id, owner)
  for (const [email, owner] of found.emails) owners.emails.set(email, owner)
  for (const [phone, owner] of found.phones) owners.phones.set(phone, owner)
  for (const [key, id] of found.identities) owners.identities.set(key, id)
}

/** Compares a user with the owners. A new user becomes an owner for later lines. */
export function judgeLine(owners: Owners, user: ImportedUser): LineVerdict {
  const { row, identities, hasOwnId } = user
  const byId = owners.ids.get(row.id)
  if (byId !== undefined)
    return isSameUser(owners, user, byId)
      ? { verdict: 'present' }
      : { verdict: 'refused', reason: IMPORT_TEXTS.idTaken }
  // Users of SSO providers may share an email.
  const byEmail = row.email === null || row.is_sso_user ? undefined : owners.emails.get(row.email)
  const byPhone = row.phone === null ? undefined : owners.phones.get(row.phone)
  // A user with an unconfirmed address may be a stranger who signed up with it before its owner.
  if (byEmail?.isConfirmed === false && row.email_confirmed_at !== null)
    return { verdict: 'refused', reason: IMPORT_TEXTS.emailOfUnconfirmed }
  if (byPhone?.isConfirmed === false && row.phone_confirmed_at !== null)
    return { verdict: 'refused', reason: IMPORT_TEXTS.phoneOfUnconfirmed }
  const found = byEmail ?? byPhone
  // A line without an id matches if all its identifiers belong to the same user.
  if (!hasOwnId && found !== undefined && (byEmail ?? found).id === (byPhone ?? found).id) return { verdict: 'present' }
  if (byEmail !== undefined) return { verdict: 'refused', reason: IMPORT_TEXTS.emailTaken }
  if (byPhone !== undefined) return { verdict: 'refused', reason: IMPORT_TEXTS.phoneTaken }
  const taken = identities.find((identity) => owners.identities.has(identityKey(identity)))
  if (taken) return { verdict: 'refused', reason: IMPORT_TEXTS.accountTaken(taken) }
  addOwner(owners, user)
  return { verdict: 'new' }
}

/**
 * Whether a line is the stored user with its id. Application developers may choose ids, so users of two projects may have the
 * same id. Addresses may change in both services, but the creation time does not. A line may have only an id.
 */
function isSameUser(owners: Owners, { row, identities, createdAt }: ImportedUser, stored: IdOwner): boolean {
  const accounts = identities.filter(({ provider }) => provider !== 'email' && provider !== 'phone')
  if (createdAt !== undefined && createdAt.getTime() === stored.createdAt?.getTime()) return true
  if (row.email === null && row.phone === null && accounts.length === 0) return createdAt === undefined
  return (
    (row.email !== null && row.email === stored.email) ||
    (row.phone !== null && row.phone === stored.phone) ||
    accounts.some((account) => owners.identities.get(identityKey(account)) === row.id)
  )
}

function addOwner(owners: Owners, { row, identities }: ImportedUser): void {
  const { id, email, phone } = row
  owners.ids.set(id, { email, phone, createdAt: new Date(row.created_at) })
  if (row.email !== null && !row.is_sso_user)
    owners.emails.set(row.email, { id, isConfirmed: row.email_confirmed_at !== null })
  if (row.phone !== null) owners.phones.set(row.phone, { id, isConfirmed: row.phone_confirmed_at !== null })
  for (const identity of identities) owners.identities.set(identityKey(identity), row.id)
}
