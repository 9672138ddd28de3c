import { type RawBuilder, sql } from 'kysely'

/** The place in which supabase/auth keeps a code of a kind of this service. SQL of it names a row of `users` as `u`. */
export interface CodePlace {
  readonly kind: string
  readonly address: RawBuilder<unknown>
  /** The column of `users` with the token of the link, which is the hash of address and code. */
  readonly token: string
  readonly sentAt: string
  readonly when: RawBuilder<unknown>
  /** How flows name what the message was for; null: the message is an SMS. */
  readonly methods: readonly string[] | null
}

/** The table of the codes that a switch has copied. */
export const COPIED_CODES = 'copied_codes'

/** The codes that the old service may wait for, and where it keeps them. */
export const CODES: readonly CodePlace[] = [
  {
    kind: 'confirmation',
    address: sql`lower(u.email)`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.email <> '' AND u.email_confirmed_at IS NULL AND u.invited_at IS NULL`,
    methods: ['email/signup', 'magiclink'],
  },
  {
    kind: 'invitation',
    address: sql`lower(u.email)`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.email <> '' AND u.email_confirmed_at IS NULL AND u.invited_at IS NOT NULL`,
    methods: ['email/signup', 'invite', 'magiclink'],
  },
  {
    kind: 'sms',
    address: sql`u.phone`,
    token: 'confirmation_token',
    sentAt: 'confirmation_sent_at',
    when: sql`u.phone <> '' AND (coalesce(u.email, '') = '' OR u.email_confirmed_at IS NOT NULL)`,
    methods: null,
  },
  {
    kind: 'recovery',
    address: sql`lower(u.email)`,
    token: 'recovery_token',
    sentAt: 'recovery_sent_at',
    when: sql`u.email <> ''`,
    methods: ['recovery', 'magiclink'],
  },
  {
    kind: 'email_change_new',
    address: sql`lower(u.email_change)`,
    token: 'email_change_token_new',
    sentAt: 'email_change_sent_at',
    when: sql`u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'email_change_current',
    address: sql`lower(u.email)`,
    token: 'email_change_token_current',
    sentAt: 'email_change_sent_at',
    when: sql`u.email <> '' AND u.email_change <> ''`,
    methods: ['email_change'],
  },
  {
    kind: 'phone_change',
    address: sql`u.phone_change`,
    token: 'phone_change_token',
    sentAt: 'phone_change_sent_at',
    when: sql`u.phone_change <> ''`,
    methods: null,
  },
  {
    kind: 'reauthentication',
    address: sql`coalesce(nullif(lower(u.email), ''), u.phone)`,
    token: 'reauthentication_token',
    sentAt: 'reauthentication_sent_at',
    when: sql`coalesce(nullif(u.email, ''), u.phone) <> ''`,
    methods: null,
  },
]
