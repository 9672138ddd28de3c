import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { AccessTokenClaims } from '../access-tokens/access-token.ts'
import { consoleUserProtected, signInUserBanned, userBanned, userNotFound } from '../errors.ts'
import { toMetadata } from '../identities/identity.ts'
import {
  type Computed,
  type Filled,
  type FilledTimestamp,
  type MetadataColumn,
  NO_TIME,
  type Timestamp,
  type TimestampColumn,
} from '../records/timestamp.ts'
import { addressMissingToConfirm } from '../request-errors.ts'
import { type IdentifierKind, normaliseEmail } from '../requests/fields.ts'
import { type Metadata, type MetadataRules, mergeMetadata, type UserMetadata, withoutConsoleRole } from './metadata.ts'

/**
 * A user. If `staged_at` is set, the row only waits for a one-time code and is not a user. The table has the columns of
 * supabase/auth, which may contain NULL where this service writes `''` for none (see the migration).
 */
export interface UsersTable extends Record<'email_change_session_id' | 'phone_change_session_id', string | null> {
  id: string
  aud: Filled<string>
  role: Filled<string>
  /** In lower case if this service wrote it. */
  email: string | null
  phone: string | null
  encrypted_password: string | null
  email_confirmed_at: TimestampColumn | null
  phone_confirmed_at: TimestampColumn | null
  confirmed_at: Computed<string | null>
  invited_at: TimestampColumn | null
  confirmation_sent_at: TimestampColumn | null
  recovery_sent_at: TimestampColumn | null
  /** Empty if no change is pending, like `phone_change`. */
  email_change: ColumnType<string | null, string | undefined, string>
  email_change_sent_at: TimestampColumn | null
  /** When the user requested the change in a session. `…_sent_at` is when its messages were last sent. */
  email_change_asked_at: TimestampColumn | null
  email_change_confirm_status: ColumnType<number | null, number | undefined, number>
  phone_change: ColumnType<string | null, string | undefined, string>
  phone_change_sent_at: TimestampColumn | null
  phone_change_asked_at: TimestampColumn | null
  reauthentication_sent_at: TimestampColumn | null
  last_sign_in_at: TimestampColumn | null
  raw_app_meta_data: MetadataColumn
  raw_user_meta_data: MetadataColumn
  banned_until: TimestampColumn | null
  deleted_at: TimestampColumn | null
  is_anonymous: Generated<boolean>
  is_sso_user: Generated<boolean>
  staged_at: TimestampColumn | null
  keep_unconfirmed: Generated<boolean>
  chosen_metadata: string[] | null
  /** The operator role of the user. `null` for other users. */
  console_role: string | null
  /** `null` also for an account that was confirmed from the start (see `isUnclaimed`). */
  claimed_at: TimestampColumn | null
  created_at: FilledTimestamp
  updated_at: FilledTimestamp
  /** The nil UUID. Only supabase/auth reads this column and the next three. */
  instance_id: ColumnType<never, string | undefined, never>
  confirmation_token: ColumnType<never, string | undefined, never>
  recovery_token: ColumnType<never, string | undefined, never>
  email_change_token_new: ColumnType<never, string | undefined, never>
}

/** A user. A time is `null` if its event has not happened. */
export interface User {
  readonly id: string
  readonly audience: string
  readonly role: string
  /** The email in lower case, or `null`. */
  readonly email: string | null
  /** The email as stored, possibly with capitals from supabase/auth or an application's SQL. Clients see this form. */
  readonly emailAsWritten: string | null
  /** E.164 digits without `+`, or `null`. */
  readonly phone: string | null
  /** An argon2 or imported hash. `null` if the user cannot sign in with a password. */
  readonly passwordHash: string | null
  readonly emailConfirmedAt: Timestamp | null
  readonly phoneConfirmedAt: Timestamp | null
  /** The earlier of the two confirmations. */
  readonly confirmedAt: Timestamp | null
  readonly invitedAt: Timestamp | null
  readonly confirmationSentAt: Timestamp | null
  readonly recoverySentAt: Timestamp | null
  /** The address of a pending change, or `null`. */
  readonly emailChange: string | null
  readonly emailChangeSentAt: Timestamp | null
  /** 0: neither address has confirmed the change. 1: one address has. */
  readonly emailChangeConfirmStatus: number
  readonly phoneChange: string | null
  readonly phoneChangeSentAt: Timestamp | null
  readonly reauthenticationSentAt: Timestamp | null
  readonly lastSignInAt: Timestamp | null
  /** The app metadata without the console role, which clients see as a part of it. */
  readonly appMetadata: Readonly<Record<string, unknown>>
  readonly userMetadata: Readonly<Record<string, unknown>>
  /** The operator role of the user (console reference: Console roles in auth). `null` for other users. */
  readonly consoleRole: OperatorRole | null
  readonly bannedUntil: Timestamp | null
  readonly deletedAt: Timestamp | null
  readonly isAnonymous: boolean
  readonly isSsoUser: boolean
  /** Set while the row only waits for its first code and is not a user (reference: Pending sign-ups). */
  readonly pendingSince: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/** The columns of a profile. They are listed, because a prepared `*` fails after a migration adds a column. */
export const USER_COLUMNS = [
  'id',
  'aud',
  'role',
  'email',
  'phone',
  'email_confirmed_at',
  'phone_confirmed_at',
  'confirmed_at',
  'invited_at',
  'confirmation_sent_at',
  'recovery_sent_at',
  'email_change',
  'email_change_sent_at',
  'email_change_confirm_status',
  'phone_change',
  'phone_change_sent_at',
  'reauthentication_sent_at',
  'last_sign_in_at',
  'raw_app_meta_data',
  'raw_user_meta_data',
  'banned_until',
  'deleted_at',
  'is_anonymous',
  'is_sso_user',
  'staged_at',
  'console_role',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof UsersTable)[]

type TimeColumn = Extract<(typeof USER_COLUMNS)[number], `${string}_at` | `${string}_until`>
/** The profile columns that contain times. */
export const TIME_COLUMNS: readonly TimeColumn[] = USER_COLUMNS.filter((name): name is TimeColumn =>
  /_(at|until)$/.test(name),
)

/** Maps a row to a user. NULL and '' are equivalent, as in supabase/auth. */
export function toUser(row: Selectable<UsersTable>): User {
  return {
    id: row.id,
    audience: row.aud ?? '',
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
    appMetadata: withoutConsoleRole(toMetadata(row.raw_app_meta_data)),
    consoleRole: OPERATOR_ROLES.find((role) => role === row.console_role) ?? null,
    userMetadata: toMetadata(row.raw_user_meta_data),
    bannedUntil: row.banned_until,
    deletedAt: row.deleted_at,
    isAnonymous: row.is_anonymous,
    isSsoUser: row.is_sso_user,
    pendingSince: row.staged_at,
    createdAt: row.created_at ?? NO_TIME,
    updatedAt: row.updated_at ?? NO_TIME,
  }
}

/** The values that users and admins can change, except addresses, passwords and rights. `undefined` members stay. */
export interface UserChanges {
  readonly userMetadata: Metadata | undefined
  readonly appMetadata: Metadata | undefined
}

/** Returns the columns that changes write. @param stored the user's metadata; empty for a new user */
export function changedColumns(
  rules: MetadataRules,
  stored: UserMetadata,
  changes: UserChanges,
): { readonly raw_user_meta_data?: Record<string, unknown>; readonly raw_app_meta_data?: Record<string, unknown> } {
  const { userMetadata, appMetadata } = mergeMetadata(rules, stored, changes)
  return {
    ...(changes.userMetadata && { raw_user_meta_data: userMetadata }),
    ...(changes.appMetadata && { raw_app_meta_data: appMetadata }),
  }
}

/** The initial values of a user's members. */
export const NEW_USER = {
  passwordHash: null,
  emailConfirmedAt: null,
  phoneConfirmedAt: null,
  confirmedAt: null,
  invitedAt: null,
  recoverySentAt: null,
  emailChange: null,
  emailChangeSentAt: null,
  emailChangeConfirmStatus: 0,
  phoneChange: null,
  phoneChangeSentAt: null,
  reauthenticationSentAt: null,
  lastSignInAt: null,
  bannedUntil: null,
  deletedAt: null,
  isAnonymous: false,
  isSsoUser: false,
  consoleRole: null,
  pendingSince: null,
} as const

/** The columns that a user fills, emptied. Neither a new account owner nor a deleted user keeps their values. */
export const CLEARED_VALUES = { raw_user_meta_data: {}, chosen_metadata: null } as const

/** Whether a user is banned at this time. A ban ends automatically at `bannedUntil`. */
export function isBanned(user: Pick<User, 'bannedUntil'>, now: Date): boolean {
  return user.bannedUntil !== null && now.getTime() < Date.parse(user.bannedUntil)
}

export function requireNotBanned(user: Pick<User, 'bannedUntil'>, now: Date): void {
  if (isBanned(user, now)) refuseBanned()
}

export function refuseBanned(): never {
  throw userBanned()
}

/** Refuses a banned user who signs in at `POST /token`, where the status differs. */
export function refuseBannedSignIn(): never {
  throw signInUserBanned()
}

export function requireUser<Found>(user: Found | undefined): Found {
  if (user === undefined) throw userNotFound()
  return user
}

export function requireAddress<Found extends { readonly user: Pick<User, IdentifierKind> }>(
  found: Found,
  kind: IdentifierKind,
): Found {
  if (found.user[kind] === null) throw addressMissingToConfirm()
  return found
}

/** Whether a row only waits for its first code. Lists and duplicate checks omit such rows. */
export function isPendingSignUp(user: Pick<User, 'pendingSince'>): boolean {
  return user.pendingSince !== null
}

/** Returns the `app_metadata` for clients, with the console role of an operator. */
export function shownAppMetadata({
  appMetadata,
  consoleRole,
}: Pick<User, 'appMetadata' | 'consoleRole'>): Readonly<Record<string, unknown>> {
  return consoleRole === null ? appMetadata : { ...appMetadata, console_role: consoleRole }
}

/** A caller who changes other users. */
export interface Manager {
  /** Throws if the caller may not change this user. */
  readonly requireMayManage: (user: User) => void
}

/** Refuses users with a console role. An admin who could set an operator's password could act as that operator. */
export function leaveToOperators({ consoleRole }: Pick<User, 'consoleRole'>): void {
  if (consoleRole !== null) throw consoleUserProtected()
}

/** The user's name in the audit log: the phone number, otherwise the email or an empty text. */
export function auditName(user: Pick<User, 'email' | 'phone'>): string {
  return user.phone ?? user.email ?? ''
}

/** Returns the access token claims about a user's email (reference: Access tokens). */
export function emailClaims({
  email,
  emailAsWritten,
  emailConfirmedAt,
}: Pick<User, 'email' | 'emailAsWritten' | 'emailConfirmedAt'>): Pick<AccessTokenClaims, 'email' | 'email_verified'> {
  const isUnconfirmed = email !== null && emailConfirmedAt === null
  return { email: emailAsWritten ?? '', ...(isUnconfirmed && { email_verified: false }) }
}
