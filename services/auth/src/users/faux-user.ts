import type { Identity } from '../identities/identity.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { toJsonbOrder } from './jsonb-order.ts'
import { toTimestamp } from './timestamp.ts'
import type { User } from './user.ts'
import type { UserIdentifier } from './user-repository.ts'

export interface FauxUserInput {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly aud: string
  readonly role: string
  /** Two random UUIDs v4. */
  readonly userId: string
  readonly identityId: string
  readonly now: Date
}

/** A user who does not exist, and their one identity. */
export interface FauxUser {
  readonly user: User
  readonly identities: readonly Identity[]
}

/** What a signup for a taken identifier answers: nothing in it tells it from a fresh, unconfirmed user (contract 3.4). */
export function createFauxUser(input: FauxUserInput): FauxUser {
  const { identifier, now, userId } = input
  const at = toTimestamp(now)
  const provider = identifier.kind
  const user: User = {
    ...NOTHING_HAPPENED,
    id: userId,
    aud: input.aud,
    role: input.role,
    email: provider === 'email' ? identifier.value : null,
    phone: provider === 'phone' ? identifier.value : null,
    confirmationSentAt: at,
    appMetadata: toJsonbOrder({ provider, providers: [provider] }),
    userMetadata: toJsonbOrder(input.data),
    createdAt: at,
    updatedAt: at,
  }
  const data = toJsonbOrder(ownIdentityData(provider, { userId, value: identifier.value }, input.data))
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
  stagedAt: null,
} as const
