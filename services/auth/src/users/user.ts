/** A user, as the rules see one. Times are null where the event has not happened. */
export interface User {
  readonly id: string
  readonly aud: string
  readonly role: string
  /** Lower-case, null when none. */
  readonly email: string | null
  /** E.164 digits without `+`, null when none. */
  readonly phone: string | null
  /** An argon2 (or imported) hash; null for a user who cannot sign in by password. */
  readonly passwordHash: string | null
  readonly emailConfirmedAt: Date | null
  readonly phoneConfirmedAt: Date | null
  /** The earlier of the two confirmations. */
  readonly confirmedAt: Date | null
  readonly invitedAt: Date | null
  readonly confirmationSentAt: Date | null
  readonly recoverySentAt: Date | null
  /** The address of a pending change, null when none is pending. */
  readonly emailChange: string | null
  readonly emailChangeSentAt: Date | null
  /** 0: none of the two addresses has confirmed the change; 1: one has. */
  readonly emailChangeConfirmStatus: number
  readonly phoneChange: string | null
  readonly phoneChangeSentAt: Date | null
  readonly reauthenticationSentAt: Date | null
  readonly lastSignInAt: Date | null
  readonly appMetadata: Readonly<Record<string, unknown>>
  readonly userMetadata: Readonly<Record<string, unknown>>
  readonly bannedUntil: Date | null
  readonly deletedAt: Date | null
  readonly isAnonymous: boolean
  readonly isSsoUser: boolean
  /** Set while the row only waits for a one-time code (contract 7.4): not a user yet. */
  readonly stagedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** True while a ban holds. */
export function isBanned(user: Pick<User, 'bannedUntil'>, now: Date): boolean {
  return user.bannedUntil !== null && now < user.bannedUntil
}

/** True for a row that waits for its first one-time code. It counts as no user in listings and duplicate checks. */
export function isStaged(user: Pick<User, 'stagedAt'>): boolean {
  return user.stagedAt !== null
}

/** What a user is called in the audit trail: the phone number, else the email, else nothing. */
export function auditName(user: Pick<User, 'email' | 'phone'>): string {
  return user.phone ?? user.email ?? ''
}
