import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { AccessTokenClaims } from '../access-tokens/access-token.ts'
import { signInUserBanned, userBanned, userNotFound } from '../errors.ts'
import { consoleUserProtected } from '../operator-errors.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { addressMissingToConfirm } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/identifier.ts'

/** A user. A time is null where its event has not happened. */
export interface User {
  readonly id: string
  readonly audience: string
  readonly role: string
  /** Lower-case, null when none. */
  readonly email: string | null
  /** As in the row, where supabase/auth or foreign SQL may have written capitals. Clients see this form. */
  readonly emailAsWritten: string | null
  /** E.164 digits without `+`, null when none. */
  readonly phone: string | null
  /** An argon2 (or imported) hash; null for a user who cannot sign in by password. */
  readonly passwordHash: string | null
  readonly emailConfirmedAt: Timestamp | null
  readonly phoneConfirmedAt: Timestamp | null
  /** The earlier of the two confirmations. */
  readonly confirmedAt: Timestamp | null
  readonly invitedAt: Timestamp | null
  readonly confirmationSentAt: Timestamp | null
  readonly recoverySentAt: Timestamp | null
  /** The address of a pending change, null when none is pending. */
  readonly emailChange: string | null
  readonly emailChangeSentAt: Timestamp | null
  /** 0: neither address has confirmed the change; 1: one has. */
  readonly emailChangeConfirmStatus: number
  readonly phoneChange: string | null
  readonly phoneChangeSentAt: Timestamp | null
  readonly reauthenticationSentAt: Timestamp | null
  readonly lastSignInAt: Timestamp | null
  /** Without the console role, which clients see among it. */
  readonly appMetadata: Readonly<Record<string, unknown>>
  readonly userMetadata: Readonly<Record<string, unknown>>
  /** The role of the user as an operator (console reference: Console roles in auth). Null for other users. */
  readonly consoleRole: OperatorRole | null
  readonly bannedUntil: Timestamp | null
  readonly deletedAt: Timestamp | null
  readonly isAnonymous: boolean
  readonly isSsoUser: boolean
  /** Set while the row only waits for its first code, and is not a user yet (reference: Staged users). */
  readonly stagedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/** Whether a user is banned at this time. A ban ends by itself at `bannedUntil`. */
export function isBanned(user: Pick<User, 'bannedUntil'>, now: Date): boolean {
  return user.bannedUntil !== null && now.getTime() < Date.parse(user.bannedUntil)
}

/** Requires that a user is not banned at this time. @throws userBanned */
export function requireNotBanned(user: Pick<User, 'bannedUntil'>, now: Date): void {
  if (isBanned(user, now)) refuseBanned()
}

/** Refuses a banned user who has signed in. @throws userBanned */
export function refuseBanned(): never {
  throw userBanned()
}

/** Refuses a banned user who signs in at `POST /token`, with another status. @throws signInUserBanned */
export function refuseBannedSignIn(): never {
  throw signInUserBanned()
}

/** Requires the user whom a request names, as a lookup has found them. @throws userNotFound */
export function requireUser<Found>(user: Found | undefined): Found {
  if (user === undefined) throw userNotFound()
  return user
}

/** Requires that a user has an address of a kind, which is about to be confirmed. @throws addressMissingToConfirm */
export function requireAddress<Found extends { readonly user: Pick<User, IdentifierKind> }>(
  found: Found,
  kind: IdentifierKind,
): Found {
  if (found.user[kind] === null) throw addressMissingToConfirm()
  return found
}

/** Whether a row only waits for its first code. Lists and checks for duplicates leave it out. */
export function isStaged(user: Pick<User, 'stagedAt'>): boolean {
  return user.stagedAt !== null
}

/** The `app_metadata` that clients see: with the console role of an operator. */
export function shownAppMetadata({
  appMetadata,
  consoleRole,
}: Pick<User, 'appMetadata' | 'consoleRole'>): Readonly<Record<string, unknown>> {
  return consoleRole === null ? appMetadata : { ...appMetadata, console_role: consoleRole }
}

/** The caller who changes users other than themselves. */
export interface Manager {
  /** Throws for a user whom they may not act on. */
  readonly requireMayManage: (user: User) => void
}

/**
 * Leaves a user with a console role to operators: an admin who could set the password of an operator could act as them.
 * @throws consoleUserProtected
 */
export function leaveToOperators({ consoleRole }: Pick<User, 'consoleRole'>): void {
  if (consoleRole !== null) throw consoleUserProtected()
}

/** The name of a user in the audit log: the phone number, else the email, else empty. */
export function auditName(user: Pick<User, 'email' | 'phone'>): string {
  return user.phone ?? user.email ?? ''
}

/** The claims of access tokens about the email of a user (reference: Access tokens). */
export function emailClaims({
  email,
  emailAsWritten,
  emailConfirmedAt,
}: Pick<User, 'email' | 'emailAsWritten' | 'emailConfirmedAt'>): Pick<AccessTokenClaims, 'email' | 'email_verified'> {
  const isUnconfirmed = email !== null && emailConfirmedAt === null
  return { email: emailAsWritten ?? '', ...(isUnconfirmed && { email_verified: false }) }
}
