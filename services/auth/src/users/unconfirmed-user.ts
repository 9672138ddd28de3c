import type { Identity } from '../identities/identity.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { toTimestamp } from '../records/timestamp.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { User } from './user.ts'

/** The values of a user who has just signed up. The same values make the answer to a duplicate sign-up. */
export interface UnconfirmedUserInput {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly audience: string
  readonly role: string
  /** Random UUIDs (version 4), stored or not. */
  readonly userId: string
  readonly identityId: string
  readonly now: Date
}

/** A user who has just signed up, or seems to have, and their only identity. */
export interface UnconfirmedUser {
  readonly user: User
  readonly identities: readonly Identity[]
}

/**
 * Makes the answer of a sign-up that waits for its confirmation. A sign-up with a taken identifier gets the answer of the same
 * function, with ids that nobody has, so it looks like a fresh sign-up (reference: Duplicate sign-ups).
 */
export function buildUnconfirmedUser(input: UnconfirmedUserInput): UnconfirmedUser {
  const { identifier, now, userId } = input
  const at = toTimestamp(now)
  const provider = identifier.kind
  const user: User = {
    ...NOTHING_HAPPENED,
    id: userId,
    audience: input.audience,
    role: input.role,
    email: provider === 'email' ? identifier.value : null,
    emailAsWritten: provider === 'email' ? identifier.value : null,
    phone: provider === 'phone' ? identifier.value : null,
    confirmationSentAt: at,
    appMetadata: { provider, providers: [provider] },
    userMetadata: input.data,
    createdAt: at,
    updatedAt: at,
  }
  const data = ownIdentityData(provider, { userId, value: identifier.value }, input.data)
  const identity: Identity = {
    id: input.identityId,
    userId,
    provider,
    providerId: userId,
    data,
    email: typeof data.email === 'string' ? data.email.toLowerCase() : null,
    lastSignInAt: null,
    createdAt: at,
    updatedAt: at,
  }
  return { user, identities: [identity] }
}

/** Makes a user without an identifier, before the row is written. */
export function createAnonymousUser(input: Omit<UnconfirmedUserInput, 'identifier' | 'identityId'>): UnconfirmedUser {
  const at = toTimestamp(input.now)
  const user: User = {
    ...NOTHING_HAPPENED,
    id: input.userId,
    audience: input.audience,
    role: input.role,
    email: null,
    emailAsWritten: null,
    phone: null,
    confirmationSentAt: null,
    appMetadata: {},
    userMetadata: input.data,
    isAnonymous: true,
    createdAt: at,
    updatedAt: at,
  }
  return { user, identities: [] }
}

const NOTHING_HAPPENED = {
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
  stagedAt: null,
} as const
