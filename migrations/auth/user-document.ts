import { type RawBuilder, sql } from 'kysely'

/**
 * The text of a user that a search looks through: email, phone and full name, each after two unit separators
 * (U+001F). With the separators, the first one or two characters of each are runs of three too. A name may be
 * of any length; the index holds its first 200 characters.
 */
export function userDocument(user: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`concat(repeat(chr(31), 2), lower(${user}.email), repeat(chr(31), 2), ${user}.phone, repeat(chr(31), 2),
    lower(left(${user}.raw_user_meta_data ->> 'full_name', 200)))`
}
