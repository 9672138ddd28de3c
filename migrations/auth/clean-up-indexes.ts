import { type RawBuilder, sql } from 'kysely'

/**
 * The indexes of `users` that clean-up walks, by name, each with what its definition says behind the name of
 * the table. Clean-up deletes some rows at a time, again and again: these rows are always the first of an
 * index. `auth adopt` makes them without a lock.
 */
export const CLEAN_UP_INDEXES: Readonly<Record<string, RawBuilder<unknown>>> = {
  users_staged_at_idx: sql`(staged_at) WHERE staged_at IS NOT NULL`,
  users_anonymous_idx: sql`(is_anonymous, created_at) WHERE is_anonymous AND NOT keep_unconfirmed`,
  users_unconfirmed_idx: sql`(confirmation_sent_at)
    WHERE confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed`,
}
