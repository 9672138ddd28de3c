import { type RawBuilder, sql } from 'kysely'

/**
 * The columns and condition of `users_email_lower_key`: the part of its definition after the table name. `auth adopt` creates the
 * index without a lock. It is not unique if users of an adopted or imported database share an email.
 */
export const EMAIL_KEY: RawBuilder<unknown> = sql`(lower(email)) WHERE NOT is_sso_user`
