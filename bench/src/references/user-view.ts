interface IdentityRow {
  readonly id: string
  readonly user_id: string
  readonly provider: string
  readonly provider_id: string
  readonly identity_data: object
  readonly email: string | null
  readonly last_sign_in_at: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** A user with all of their rows. Times are text. */
export interface UserRow {
  readonly id: string
  readonly aud: string
  readonly role: string
  readonly email: string | null
  readonly phone: string | null
  readonly email_confirmed_at: string | null
  readonly phone_confirmed_at: string | null
  readonly confirmed_at: string | null
  readonly invited_at: string | null
  readonly confirmation_sent_at: string | null
  readonly recovery_sent_at: string | null
  readonly email_change: string | null
  readonly email_change_sent_at: string | null
  readonly phone_change: string | null
  readonly phone_change_sent_at: string | null
  readonly reauthentication_sent_at: string | null
  readonly last_sign_in_at: string | null
  readonly raw_app_meta_data: object
  readonly raw_user_meta_data: object
  readonly banned_until: string | null
  readonly deleted_at: string | null
  readonly is_anonymous: boolean
  readonly created_at: string
  readonly updated_at: string
  readonly identities: readonly IdentityRow[] | null
  readonly factors: readonly object[] | null
}

/** The user as the service shows it (auth reference: User record). JSON drops undefined members. */
export function userView(user: UserRow): object {
  return {
    id: user.id,
    aud: user.aud,
    role: user.role,
    email: user.email ?? '',
    email_confirmed_at: user.email_confirmed_at ?? undefined,
    invited_at: user.invited_at ?? undefined,
    phone: user.phone ?? '',
    phone_confirmed_at: user.phone_confirmed_at ?? undefined,
    confirmation_sent_at: user.confirmation_sent_at ?? undefined,
    confirmed_at: user.confirmed_at ?? undefined,
    recovery_sent_at: user.recovery_sent_at ?? undefined,
    new_email: user.email_change ?? undefined,
    email_change_sent_at: user.email_change_sent_at ?? undefined,
    new_phone: user.phone_change ?? undefined,
    phone_change_sent_at: user.phone_change_sent_at ?? undefined,
    reauthentication_sent_at: user.reauthentication_sent_at ?? undefined,
    last_sign_in_at: user.last_sign_in_at ?? undefined,
    app_metadata: user.raw_app_meta_data,
    user_metadata: user.raw_user_meta_data,
    factors: user.factors ?? undefined,
    identities: (user.identities ?? []).map(identityView),
    created_at: user.created_at,
    updated_at: user.updated_at,
    banned_until: user.banned_until ?? undefined,
    deleted_at: user.deleted_at ?? undefined,
    is_anonymous: user.is_anonymous,
  }
}

function identityView({ id, provider_id, email, last_sign_in_at, ...same }: IdentityRow) {
  return {
    identity_id: id,
    id: provider_id,
    ...same,
    last_sign_in_at: last_sign_in_at ?? undefined,
    email: email ?? undefined,
  }
}
