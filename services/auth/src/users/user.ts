import type { Timestamp } from '../timestamp.ts'

/** A user, as the rules see one. Times are null where the event has not happened. */
export interface User {
  readonly id: string
  readonly aud: string
  readonly role: string
  /** Lower-case, null when none. */
  readonly email: string | null
  /** As the row has it: supabase/auth, or SQL of others, may have written capitals. Clients are shown this. */
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
  /** 0: none of the two addresses has confirmed the change; 1: one has. */
  readonly emailChangeConfirmStatus: number
  readonly phoneChange: string | null
  readonly phoneChangeSentAt: Timestamp | null
  readonly reauthenticationSentAt: Timestamp | null
  readonly lastSignInAt: Timestamp | null
  readonly appMetadata: Readonly<Record<string, unknown>>
  readonly userMetadata: Readonly<Record<string, unknown>>
  readonly bannedUntil: Timestamp | null
  readonly deletedAt: Timestamp | null
  readonly isAnonymous: boolean
  readonly isSsoUser: boolean
  /** Set while the row only waits for a one-time code: it is no user yet (reference: Staged users). */
  readonly stagedAt: Timestamp | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
}

/** True while a ban holds. */
export function isBanned(user: Pick<User, 'bannedUntil'>, now: Date): boolean {
  return user.bannedUntil !== null && now.getTime() < Date.parse(user.bannedUntil)
}

/** True for a row that waits for its first one-time code. It counts as no user in listings and duplicate checks. */
export function isStaged(user: Pick<User, 'stagedAt'>): boolean {
  return user.stagedAt !== null
}

/** What a user is called in the audit trail: the phone number, else the email, else nothing. */
export function auditName(user: Pick<User, 'email' | 'phone'>): string {
  return user.phone ?? user.email ?? ''
}
