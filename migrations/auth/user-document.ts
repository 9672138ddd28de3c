import { type RawBuilder, sql } from 'kysely'

/**
 * The searched text of a user: email, phone and full name, each after two unit separators (U+001F). With the separators, the
 * first one or two characters of each also form runs of three. A name may have any length, but the index contains only its first
 * 200 characters.
 */
export function userDocument(user: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`concat(repeat(chr(31), 2), lower(${user}.email), repeat(chr(31), 2), ${user}.phone, repeat(chr(31), 2),
    lower(left(${user}.raw_user_meta_data ->> 'full_name', 200)))`
}
