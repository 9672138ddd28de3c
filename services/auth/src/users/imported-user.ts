import type { Insertable } from 'kysely'
import type { IdentitiesTable, UsersTable } from '../database.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { type FirebaseParameters, toStoredFirebaseHash } from '../passwords/firebase-scrypt.ts'
import { HASH_LENGTH_MAX, parseStoredHash } from '../passwords/stored-hash.ts'
import { phoneMalformed } from '../request-errors.ts'
import { type IdentifierKind, isEmail, normalisePhone, requireEmail } from '../requests/identifier.ts'
import { type MetadataRules, requireMetadata } from './metadata.ts'
import type { IdentityLine, UserLine } from './user-line.ts'

/** A user as the import stores it. Other columns have the values of a new user. */
export interface ImportedUser {
  readonly row: Insertable<UsersTable> & {
    readonly id: string
    readonly email: string | null
    readonly phone: string | null
    readonly created_at: Date | string
  }
  readonly identities: readonly ImportedIdentity[]
  /** Whether the line has the id. Then a user with the same email and another id is somebody else. */
  readonly hasOwnId: boolean
  /** When the user was created, where the line says so. */
  readonly createdAt: Date | undefined
  /** The members of the line that the row has not. */
  readonly leftOut: readonly LeftOut[]
}

/** A member of a line that a stranger may have written: an unconfirmed second address, or the password of an open invitation. */
export type LeftOut = IdentifierKind | 'password'

/** An identity of an imported user, without the id of the user, which is known when the user is inserted. */
export type ImportedIdentity = Omit<Insertable<IdentitiesTable>, 'user_id'>

/** The values of an imported user that a line may leave out. */
export interface ImportDefaults extends MetadataRules {
  readonly audience: string
  readonly role: string
  /** For Firebase hashes that do not carry their own. */
  readonly firebase: FirebaseParameters | undefined
  readonly now: Date
  /** Generates the id of a user whose line has none. */
  readonly generateId: () => string
}

/** The key that no two identities share. */
export function identityKey({ provider, provider_id }: Pick<ImportedIdentity, 'provider' | 'provider_id'>): string {
  return JSON.stringify([provider, provider_id])
}

/** Turns a line into rows. @throws metadataTooLarge, or Error with the reason why the line is refused */
export function toImportedUser(line: UserLine, defaults: ImportDefaults): ImportedUser {
  const read = toRow(line, defaults)
  const leftOut = line.claimed_at === undefined ? listStrangers(read) : []
  const row = {
    ...read,
    email: leftOut.includes('email') ? null : read.email,
    phone: leftOut.includes('phone') ? null : read.phone,
    encrypted_password: leftOut.includes('password') ? null : read.encrypted_password,
  }
  if (row.email === null && row.phone === null && line.id === undefined) throw new Error(IMPORT_TEXTS.nobody)
  const kept = line.identities?.filter(({ provider }) => leftOut.every((left) => left !== provider))
  const identities = kept?.map((identity) => toImportedIdentity(row, identity)) ?? ownIdentities(row)
  const keys = identities.map(identityKey)
  if (new Set(keys).size < keys.length) throw new Error(IMPORT_TEXTS.identityTwice)
  const providers = [...new Set(identities.map(({ provider }) => provider))]
  const own = providers.length === 0 ? {} : { provider: providers[0], providers }
  // The line may list the provider of an address that is left out.
  const told =
    row.email === read.email && row.phone === read.phone ? line.app_metadata : { ...line.app_metadata, ...own }
  const appMetadata = requireMetadata(defaults, { ...own, ...told }, row.raw_user_meta_data)
  const claimed_at = line.claimed_at ?? (isClaimed(row, identities) ? row.created_at : null)
  return {
    row: { ...row, raw_app_meta_data: { ...appMetadata }, claimed_at },
    identities,
    hasOwnId: line.id !== undefined,
    createdAt: line.created_at === undefined ? undefined : new Date(line.created_at),
    leftOut,
  }
}

/** Lists the members of a row that a stranger may have written at the former program. */
function listStrangers(row: ImportedRow): readonly LeftOut[] {
  const second = findUnconfirmedSecond(row)
  return [...(second === undefined ? [] : [second]), ...(hasOpenInvitation(row) ? (['password'] as const) : [])]
}

/**
 * Whether a row has the password of an invitation that nobody has accepted. A stranger who signed up before the
 * invitation may have set it, so an invitation of this service removes it too.
 */
function hasOpenInvitation(row: ImportedRow): boolean {
  const isOpen = row.invited_at !== null && row.email_confirmed_at === null && row.phone_confirmed_at === null
  return isOpen && row.encrypted_password !== null
}

/**
 * Finds an unconfirmed address beside another address. A stranger may have added it to their own account at the former program.
 * Its owner would get into that account by confirming the address, and share it with the stranger.
 */
function findUnconfirmedSecond({ email, phone, ...row }: ImportedRow): IdentifierKind | undefined {
  if (email === null || phone === null) return undefined
  if (row.phone_confirmed_at === null) return 'phone'
  return row.email_confirmed_at === null ? 'email' : undefined
}

/** A user whom a provider has made without an address has claimed the account: a later address is only added to it. */
function isClaimed({ email, phone, is_anonymous }: ImportedRow, identities: readonly ImportedIdentity[]): boolean {
  const hasAddress = email !== null || phone !== null || identities.some(({ identity_data }) => identity_data.email)
  return !hasAddress && !is_anonymous
}

type ImportedRow = ReturnType<typeof toRow>

function toRow(line: UserLine, defaults: ImportDefaults) {
  const email = toEmail(line.email)
  const phone = toPhone(line.phone)
  const createdAt = line.created_at ?? defaults.now
  // A line may say that an address is confirmed, and not when.
  const emailConfirmedAt = line.email_confirmed_at ?? (line.email_confirm ? createdAt : null)
  const phoneConfirmedAt = line.phone_confirmed_at ?? (line.phone_confirm ? createdAt : null)
  return {
    id: line.id ?? defaults.generateId(),
    aud: line.aud ?? defaults.audience,
    role: line.role ?? defaults.role,
    email,
    phone,
    encrypted_password: toStoredHash(line.password_hash, defaults.firebase),
    email_confirmed_at: email === null ? null : emailConfirmedAt,
    phone_confirmed_at: phone === null ? null : phoneConfirmedAt,
    invited_at: line.invited_at ?? null,
    confirmation_sent_at: line.confirmation_sent_at ?? null,
    recovery_sent_at: line.recovery_sent_at ?? null,
    last_sign_in_at: line.last_sign_in_at ?? null,
    raw_user_meta_data: { ...line.user_metadata },
    banned_until: line.banned_until ?? null,
    is_anonymous: line.is_anonymous ?? false,
    is_sso_user: line.is_sso_user ?? false,
    created_at: createdAt,
    updated_at: line.updated_at ?? defaults.now,
  }
}

function toEmail(email: string | undefined): string | null {
  if (email === undefined) return null
  try {
    return requireEmail(email)
  } catch (error) {
    throw new Error(IMPORT_TEXTS.emailInvalid({ problem: error instanceof Error ? error.message : String(error) }))
  }
}

function toPhone(phone: string | undefined): string | null {
  if (phone === undefined) return null
  const digits = normalisePhone(phone)
  if (digits === undefined) throw new Error(IMPORT_TEXTS.phoneInvalid({ problem: phoneMalformed.message }))
  return digits
}

function toStoredHash(hash: string | undefined, firebase: FirebaseParameters | undefined): string | null {
  if (hash === undefined) return null
  const stored = hash.startsWith('$fbscrypt$') ? toStoredFirebaseHash(hash, firebase) : hash
  if (stored.length > HASH_LENGTH_MAX) throw new Error(IMPORT_TEXTS.hashTooLong({ max: HASH_LENGTH_MAX }))
  if (parseStoredHash(stored)) return stored
  throw new Error(IMPORT_TEXTS.hashUnknown)
}

/** The identities of a user whose line has none: one for each identifier, as for a new user. */
function ownIdentities(row: ImportedRow): readonly ImportedIdentity[] {
  const times = { last_sign_in_at: row.last_sign_in_at, created_at: row.created_at, updated_at: row.updated_at }
  return (['email', 'phone'] as const)
    .filter((provider) => row[provider] !== null)
    .map((provider) => ({
      provider,
      provider_id: row.id,
      identity_data: ownData(row, provider, {}),
      ...times,
    }))
}

/** The data of the identity of an own address. The row alone says which address that is, and whether it is confirmed. */
function ownData(
  row: ImportedRow,
  provider: IdentifierKind,
  extra: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const value = row[provider]
  const { [provider]: address, ...data } = ownIdentityData(provider, { userId: row.id, value: value ?? '' }, extra)
  const isVerified = row[`${provider}_confirmed_at`] !== null
  return { ...data, ...(value === null ? {} : { [provider]: address }), [`${provider}_verified`]: isVerified }
}

/** Parses an identity of a line. The subject is `id`, as in the API, or `provider_id`, as in a row. */
function toImportedIdentity(row: ImportedRow, line: IdentityLine): ImportedIdentity {
  const { provider } = line
  const isOwn = provider === 'email' || provider === 'phone'
  const subject = isOwn ? row.id : (line.provider_id ?? line.id)
  if (!subject) throw new Error(IMPORT_TEXTS.identityWithoutId(line))
  return {
    provider,
    provider_id: subject,
    identity_data: isOwn
      ? ownData(row, provider, line.identity_data ?? {})
      : { ...toAccountData(row, line.identity_data ?? {}), sub: subject },
    last_sign_in_at: line.last_sign_in_at ?? null,
    created_at: line.created_at ?? row.created_at,
    updated_at: line.updated_at ?? row.updated_at,
  }
}

/**
 * The data of an account at a provider. A verified address leads whoever proves it into the account of its user. So the word of
 * a line counts for the user's own email alone; for another address the next sign-in at the provider says so. An email that no
 * form accepts is left out: it leads to nobody, and the index of emails may not hold it.
 */
function toAccountData(
  { email }: ImportedRow,
  { email: told, ...others }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const data = typeof told === 'string' && isEmail(told) ? { ...others, email: told } : others
  const isOwnEmail = email !== null && String(told).toLowerCase() === email
  return others.email_verified === true && !isOwnEmail ? { ...data, email_verified: false } : data
}
