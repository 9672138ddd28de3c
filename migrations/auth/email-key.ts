import { type RawBuilder, sql } from 'kysely'

/**
 * The columns and condition that `users_email_lower_key` covers, as its definition says behind the name of the table.
 * `auth adopt` makes the index without a lock. The index is not unique where users of an adopted or imported database share an
 * email.
 */
export const EMAIL_KEY: RawBuilder<unknown> = sql`(lower(email)) WHERE NOT is_sso_user`
