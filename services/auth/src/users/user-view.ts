import { z } from 'zod'
import type { Factor } from '../factors/factor.ts'
import type { Identity } from '../identities/identity.ts'
import { metadataSchema } from './metadata.ts'
import type { Profile } from './profile-repository.ts'

const timestamp = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })
/** A UUID of any version, since imports and the admin API bring ids of their own. */
const id = z.guid()

/** An identity as clients see it (reference: Identity). */
export const identityViewSchema = z.object({
  identity_id: id,
  id: z.string().meta({ description: 'subject at the provider; for email and phone identities the user id' }),
  user_id: id,
  identity_data: metadataSchema,
  provider: z.string(),
  last_sign_in_at: timestamp.optional(),
  created_at: timestamp,
  updated_at: timestamp,
  email: z.string().optional(),
})

/** A second factor as clients see it. */
export const factorViewSchema = z.object({
  id,
  created_at: timestamp,
  updated_at: timestamp,
  status: z.enum(['unverified', 'verified']),
  friendly_name: z.string().optional(),
  factor_type: z.enum(['totp', 'phone', 'webauthn', 'recovery_code']),
  phone: z.string(),
  last_challenged_at: timestamp.nullable(),
})

/**
 * A user record (reference: User record). Clients see the members in this order. A time is absent where its event
 * has not happened.
 */
export const userViewSchema = z.object({
  id,
  aud: z.string(),
  role: z.string(),
  email: z.string(),
  email_confirmed_at: timestamp.optional(),
  invited_at: timestamp.optional(),
  phone: z.string(),
  phone_confirmed_at: timestamp.optional(),
  confirmation_sent_at: timestamp.optional(),
  confirmed_at: timestamp.optional(),
  recovery_sent_at: timestamp.optional(),
  new_email: z.string().optional(),
  email_change_sent_at: timestamp.optional(),
  new_phone: z.string().optional(),
  phone_change_sent_at: timestamp.optional(),
  reauthentication_sent_at: timestamp.optional(),
  last_sign_in_at: timestamp.optional(),
  app_metadata: metadataSchema,
  user_metadata: metadataSchema,
  factors: z.array(factorViewSchema).optional(),
  identities: z.array(identityViewSchema),
  created_at: timestamp,
  updated_at: timestamp,
  banned_until: timestamp.optional(),
  deleted_at: timestamp.optional(),
  is_anonymous: z.boolean(),
})

/** An identity as clients see it (reference: Identity). */
export type IdentityView = z.output<typeof identityViewSchema>

/** A factor as clients see it (reference: Factor). */
export type FactorView = z.output<typeof factorViewSchema>

/** A user as clients see them (reference: User record). */
export type UserView = z.output<typeof userViewSchema>

/** The record of a user. An absent member is undefined, which JSON leaves out. */
export function viewUser({ user, identities, factors }: Profile): UserView {
  const hasEmailChange = user.emailChange !== null
  const hasPhoneChange = user.phoneChange !== null
  return {
    id: user.id,
    aud: user.audience,
    role: user.role,
    email: user.emailAsWritten ?? '',
    email_confirmed_at: user.emailConfirmedAt ?? undefined,
    invited_at: user.invitedAt ?? undefined,
    phone: user.phone ?? '',
    phone_confirmed_at: user.phoneConfirmedAt ?? undefined,
    confirmation_sent_at: user.confirmationSentAt ?? undefined,
    confirmed_at: user.confirmedAt ?? undefined,
    recovery_sent_at: user.recoverySentAt ?? undefined,
    new_email: user.emailChange ?? undefined,
    email_change_sent_at: hasEmailChange ? (user.emailChangeSentAt ?? undefined) : undefined,
    new_phone: user.phoneChange ?? undefined,
    phone_change_sent_at: hasPhoneChange ? (user.phoneChangeSentAt ?? undefined) : undefined,
    reauthentication_sent_at: user.reauthenticationSentAt ?? undefined,
    last_sign_in_at: user.lastSignInAt ?? undefined,
    app_metadata: user.appMetadata,
    user_metadata: user.userMetadata,
    factors: factors.length === 0 ? undefined : factors.map(viewFactor),
    identities: identities.map(viewIdentity),
    created_at: user.createdAt,
    updated_at: user.updatedAt,
    banned_until: user.bannedUntil ?? undefined,
    deleted_at: user.deletedAt ?? undefined,
    is_anonymous: user.isAnonymous,
  }
}

function viewIdentity(identity: Identity): IdentityView {
  return {
    identity_id: identity.id,
    id: identity.providerId,
    user_id: identity.userId,
    identity_data: identity.data,
    provider: identity.provider,
    last_sign_in_at: identity.lastSignInAt ?? undefined,
    created_at: identity.createdAt,
    updated_at: identity.updatedAt,
    email: identity.email || undefined,
  }
}

/** The record of a factor. */
export function viewFactor(factor: Factor): FactorView {
  return {
    id: factor.id,
    created_at: factor.createdAt,
    updated_at: factor.updatedAt,
    status: factor.status,
    friendly_name: factor.friendlyName || undefined,
    factor_type: factor.factorType,
    phone: factor.phone ?? '',
    last_challenged_at: factor.lastChallengedAt,
  }
}
