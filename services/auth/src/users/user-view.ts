import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Factor } from '../factors/factor.ts'
import type { Identity } from '../identities/identity.ts'
import { Metadata } from './metadata.ts'
import type { Profile } from './profile-repository.ts'
import { shownAppMetadata } from './user.ts'

const Timestamp = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })
/** A UUID of any version, because imports and the admin API may supply ids. */
const Id = z.guid()

/** An identity in the API (reference: Identity). */
const IdentityView = z
  .object({
    identity_id: Id,
    id: z
      .string()
      .meta({ description: 'The subject at the provider, or the user id of an identity by email or phone' }),
    user_id: Id,
    identity_data: Metadata,
    provider: z.string(),
    last_sign_in_at: Timestamp.optional(),
    created_at: Timestamp,
    updated_at: Timestamp,
    email: z.string().optional(),
  })
  .meta({ id: 'Identity' })

/** A second factor in the API. */
export const FactorView = z
  .object({
    id: Id,
    created_at: Timestamp,
    updated_at: Timestamp,
    status: z.enum(['unverified', 'verified']),
    friendly_name: z.string().optional(),
    factor_type: z.enum(['totp', 'phone', 'webauthn', 'recovery_code']),
    phone: z.string(),
    last_challenged_at: Timestamp.nullable(),
  })
  .meta({ id: 'Factor' })

/** The order of the members in the API. A time is absent if its event has not happened (reference: User record). */
export const UserView = z
  .object({
    id: Id,
    aud: z.string(),
    role: z.string(),
    email: z.string(),
    email_confirmed_at: Timestamp.optional(),
    invited_at: Timestamp.optional(),
    phone: z.string(),
    phone_confirmed_at: Timestamp.optional(),
    confirmation_sent_at: Timestamp.optional(),
    confirmed_at: Timestamp.optional(),
    recovery_sent_at: Timestamp.optional(),
    new_email: z.string().optional(),
    email_change_sent_at: Timestamp.optional(),
    new_phone: z.string().optional(),
    phone_change_sent_at: Timestamp.optional(),
    reauthentication_sent_at: Timestamp.optional(),
    last_sign_in_at: Timestamp.optional(),
    app_metadata: Metadata,
    user_metadata: Metadata,
    factors: z.array(FactorView).optional(),
    identities: z.array(IdentityView),
    created_at: Timestamp,
    updated_at: Timestamp,
    banned_until: Timestamp.optional(),
    deleted_at: Timestamp.optional(),
    is_anonymous: z.boolean(),
  })
  .meta({ id: 'User' })

/**
 * A user in a list of operators (console reference: Users in lists). It lacks `user_metadata` and identity claims, and its
 * `app_metadata` has only the console role.
 */
export const ListedUserView = UserView.omit({ user_metadata: true })
  .extend({
    app_metadata: z.object({ console_role: z.string().optional() }),
    identities: z.array(IdentityView.omit({ identity_data: true })),
  })
  .meta({ id: 'ListedUser' })

type IdentityView = z.output<typeof IdentityView>

export type FactorView = z.output<typeof FactorView>

/** A user in the API (reference: User record). */
export type UserView = z.output<typeof UserView>

/** A user in a list of operators (console reference: Users in lists). */
export type ListedUserView = z.output<typeof ListedUserView>

/** Returns a user record. JSON omits `undefined` members. @param compatibility by default as in `compatible` */
export function viewUser(
  { user, identities, factors }: Profile,
  { keepSentTimesOfChanges }: Pick<CompatibilityOptions, 'keepSentTimesOfChanges'> = { keepSentTimesOfChanges: false },
): UserView {
  const hasEmailChange = user.emailChange !== null || keepSentTimesOfChanges
  const hasPhoneChange = user.phoneChange !== null || keepSentTimesOfChanges
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
    app_metadata: shownAppMetadata(user),
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

/** Returns the record of a user in a list of operators. @param brief a profile of `listBriefProfiles` */
export function viewListedUser(brief: Profile): ListedUserView {
  const { user_metadata: _metadata, identities, ...shown } = viewUser(brief)
  return { ...shown, identities: identities.map(({ identity_data: _data, ...identity }) => identity) }
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
