import type { Insertable } from 'kysely'
import { z } from 'zod'
import type { IdentitiesTable } from '../database.ts'
import { FIELD_TEXTS, fieldText, IMPORT_TEXTS } from '../field-errors.ts'
import { type Identity, ownIdentityData, SUBJECT_LENGTH_MAX } from '../identities/identity.ts'
import {
  type FirebaseParameters,
  HASH_LENGTH_MAX,
  parseStoredHash,
  toStoredFirebaseHash,
} from '../passwords/stored-hash.ts'
import { NIL_UUID, parseId } from '../records/ids.ts'
import { phoneMalformed } from '../request-errors.ts'
import { type IdentifierKind, isEmail, normalisePhone, requireEmail } from '../requests/fields.ts'
import { parseJson } from '../requests/parse-json.ts'
import { Metadata, type MetadataRules, requireMetadata } from './metadata.ts'
import type { UsersTable } from './user.ts'
import type { UserWithIdentities } from './user-list-repository.ts'

/** A user in the form that the import stores. Other columns get the values of a new user. */
export interface ImportedUser {
  readonly row: Insertable<UsersTable> & {
    readonly id: string
    readonly email: string | null
    readonly phone: string | null
    readonly created_at: Date | string
  }
  readonly identities: readonly ImportedIdentity[]
  /** Whether the id is from the line. A user with the same email and another id is then another person. */
  readonly hasOwnId: boolean
  /** The creation time, if the line has it. */
  readonly createdAt: Date | undefined
  /** The members of the line that the row omits. */
  readonly leftOut: readonly LeftOut[]
}

/** What a stranger may have written: an unconfirmed second address, or the password of an open invitation. */
export type LeftOut = IdentifierKind | 'password'

/** An identity of an imported user, without the user id, which is known only after the insert. */
type ImportedIdentity = Omit<Insertable<IdentitiesTable>, 'user_id'>

/** Default values for members that a line may omit. */
export interface ImportDefaults extends MetadataRules {
  readonly audience: string
  readonly role: string
  /** For Firebase hashes without their own parameters. */
  readonly firebase: FirebaseParameters | undefined
  readonly now: Date
  /** Generates the id of a user whose line has none. */
  readonly generateId: () => string
}

/** Returns a key that is unique to an identity. */
export function identityKey({ provider, provider_id }: Pick<ImportedIdentity, 'provider' | 'provider_id'>): string {
  return JSON.stringify([provider, provider_id])
}

/** Converts a line to rows. @throws metadataTooLarge, or Error with the reason why the line is refused */
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
  // The line may list the provider of an omitted address.
  const given =
    row.email === read.email && row.phone === read.phone ? line.app_metadata : { ...line.app_metadata, ...own }
  const appMetadata = requireMetadata(defaults, { ...own, ...given }, row.raw_user_meta_data)
  const claimed_at = line.claimed_at ?? (isClaimed(row, identities) ? row.created_at : null)
  return {
    row: { ...row, raw_app_meta_data: { ...appMetadata }, claimed_at },
    identities,
    hasOwnId: line.id !== undefined,
    createdAt: line.created_at === undefined ? undefined : new Date(line.created_at),
    leftOut,
  }
}

/** Lists the members of a row that a stranger may have written in the other program. */
function listStrangers(row: ImportedRow): readonly LeftOut[] {
  const second = findUnconfirmedSecond(row)
  return [...(second === undefined ? [] : [second]), ...(hasOpenInvitation(row) ? (['password'] as const) : [])]
}

/**
 * Whether a row has the password of an unaccepted invitation. A stranger who signed up before the invitation may have set it.
 * Invitations of this service remove such a password too.
 */
function hasOpenInvitation(row: ImportedRow): boolean {
  const isOpen = row.invited_at !== null && row.email_confirmed_at === null && row.phone_confirmed_at === null
  return isOpen && row.encrypted_password !== null
}

/**
 * Finds an unconfirmed second address. In the other program, a stranger may have added it to their own account. By confirming it,
 * its owner would get into that account and share it with the stranger.
 */
function findUnconfirmedSecond({ email, phone, ...row }: ImportedRow): IdentifierKind | undefined {
  if (email === null || phone === null) return undefined
  if (row.phone_confirmed_at === null) return 'phone'
  return row.email_confirmed_at === null ? 'email' : undefined
}

/** A user whom a provider created without an address has claimed the account. Later addresses are only added. */
function isClaimed({ email, phone, is_anonymous }: ImportedRow, identities: readonly ImportedIdentity[]): boolean {
  const hasAddress = email !== null || phone !== null || identities.some(({ identity_data }) => identity_data.email)
  return !hasAddress && !is_anonymous
}

type ImportedRow = ReturnType<typeof toRow>

function toRow(line: UserLine, defaults: ImportDefaults) {
  const email = toEmail(line.email)
  const phone = toPhone(line.phone)
  const createdAt = line.created_at ?? defaults.now
  // A line may say that an address is confirmed, without the time.
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

/** The identity data of an own address. Only the row decides which address that is and whether it is confirmed. */
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

/** Parses an identity of a line. The subject is `id` as in the API, or `provider_id` as in a row. */
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
 * Returns the data of a provider account. A verified address gives its owner access to the user's account. So `email_verified` of
 * a line counts only for the user's own email. Another address is verified at the next sign-in. An email that this service would
 * refuse is omitted, because it leads to nobody and may not fit into the index.
 */
function toAccountData(
  { email }: ImportedRow,
  { email: given, ...others }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const data = typeof given === 'string' && isEmail(given) ? { ...others, email: given } : others
  const isOwnEmail = email !== null && String(given).toLowerCase() === email
  return others.email_verified === true && !isOwnEmail ? { ...data, email_verified: false } : data
}

const Uuid = z
  .string()
  .refine((id) => parseId(id) !== undefined, { error: FIELD_TEXTS.uuid })
  .refine((id) => id !== NIL_UUID, { error: FIELD_TEXTS.nilUuid })
  .transform((id) => id.toLowerCase())
const Time = z
  .string({ error: FIELD_TEXTS.time })
  .transform(toRfc3339)
  .pipe(z.iso.datetime({ offset: true, error: FIELD_TEXTS.time }))
  // PostgreSQL has no year 0, and no offset of 16 hours.
  .refine((text) => /^(?!0000)/.test(text) && /(Z|[+-](0\d|1[0-5]):\d\d)$/.test(text), { error: FIELD_TEXTS.time })
/** A flag, possibly as text, as in psql output and CSV files. */
const Flag = z.union([z.boolean(), z.enum(['t', 'true', 'f', 'false']).transform((text) => text.startsWith('t'))], {
  error: FIELD_TEXTS.notBoolean,
})
const Name = z.string().trim().min(1).max(255)

/** A subject as written by the provider, with the length limit of a sign-in. `admin ` and `admin` are different accounts. */
const Subject = z.string().min(1).max(SUBJECT_LENGTH_MAX)

const IdentityEntry = z.object({
  provider: Name,
  provider_id: Subject.nullish(),
  id: Subject.nullish(),
  identity_data: Metadata.nullish(),
  last_sign_in_at: Time.nullish(),
  created_at: Time.nullish(),
  updated_at: Time.nullish(),
})

/** One line of `users import|export`: the API's user record with the password hash. */
const UserLine = z.object({
  id: Uuid.optional(),
  aud: Name.optional(),
  role: Name.optional(),
  email: z.string().optional(),
  phone: z.string().optional(),
  password_hash: z.string().optional(),
  email_confirm: Flag.optional(),
  phone_confirm: Flag.optional(),
  email_confirmed_at: Time.optional(),
  phone_confirmed_at: Time.optional(),
  invited_at: Time.optional(),
  confirmation_sent_at: Time.optional(),
  recovery_sent_at: Time.optional(),
  last_sign_in_at: Time.optional(),
  app_metadata: Metadata.optional(),
  user_metadata: Metadata.optional(),
  identities: z.array(IdentityEntry).max(100).optional(),
  banned_until: Time.optional(),
  is_anonymous: Flag.optional(),
  is_sso_user: Flag.optional(),
  claimed_at: Time.optional(),
  created_at: Time.optional(),
  updated_at: Time.optional(),
})

/** A valid line of an import, without absent members. */
export type UserLine = z.output<typeof UserLine>

/** An identity of a line. `provider_id` is the account's id at the provider. */
type IdentityLine = z.output<typeof IdentityEntry>

/** The column names of supabase/auth for the same values. */
const OTHER_NAMES: Readonly<Record<string, keyof UserLine>> = {
  encrypted_password: 'password_hash',
  raw_app_meta_data: 'app_metadata',
  raw_user_meta_data: 'user_metadata',
}

interface ReadUserLine {
  readonly line: UserLine
  readonly ignored: readonly string[]
}

/** Parses a line. `null` and empty members count as absent. @throws Error with the reason, also for a deleted user */
export function readUserLine(text: string): ReadUserLine {
  const entries = Object.entries(parseJson(text) ?? {}).filter(([, value]) => value !== '')
  const members = Object.fromEntries(entries.map(([key, value]) => [OTHER_NAMES[key] ?? key, value]))
  // Otherwise an import would restore deleted users.
  if (members.deleted_at !== undefined) throw new Error(IMPORT_TEXTS.deleted)
  const { data, error } = UserLine.safeParse(members)
  const [issue] = error?.issues ?? []
  const field = issue?.path.join('.') ?? ''
  if (data === undefined) throw new Error(IMPORT_TEXTS.memberInvalid({ field, problem: fieldText(issue) }))
  const ignored = Object.keys(members).filter((key) => !Object.hasOwn(UserLine.shape, key))
  return { line: data, ignored }
}

/** Converts a time of PostgreSQL, such as `2024-01-01 10:00:00+00`, to RFC 3339. Other texts stay as they are. */
function toRfc3339(text: string): string {
  return text.replace(
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(?:(Z)|([+-]\d\d)(?::?(\d\d))?)$/,
    (_time, ...parts) => {
      const [date, time, utc, hours, minutes = '00'] = parts
      return `${date}T${time}${utc ?? `${hours}:${minutes}`}`
    },
  )
}

/** Formats a user as a line, without times of events that have not happened. */
export function writeUserLine({ user, claimedAt, identities }: UserWithIdentities): string {
  const line: { readonly [Name in keyof UserLine]: unknown } = {
    id: user.id,
    aud: user.audience,
    role: user.role,
    email: user.emailAsWritten,
    phone: user.phone,
    password_hash: user.passwordHash,
    email_confirmed_at: user.emailConfirmedAt,
    phone_confirmed_at: user.phoneConfirmedAt,
    invited_at: user.invitedAt,
    confirmation_sent_at: user.confirmationSentAt,
    recovery_sent_at: user.recoverySentAt,
    last_sign_in_at: user.lastSignInAt,
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    identities: identities.map(toIdentityLine),
    banned_until: user.bannedUntil,
    is_anonymous: user.isAnonymous,
    is_sso_user: user.isSsoUser,
    claimed_at: claimedAt,
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  }
  return JSON.stringify(withoutNulls(line))
}

function toIdentityLine(identity: Identity): object {
  return withoutNulls({
    provider: identity.provider,
    provider_id: identity.providerId,
    identity_data: identity.data,
    last_sign_in_at: identity.lastSignInAt,
    created_at: identity.createdAt,
    updated_at: identity.updatedAt,
  })
}

/** Keeps `null` inside metadata, because the user may have written it. */
function withoutNulls(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}
