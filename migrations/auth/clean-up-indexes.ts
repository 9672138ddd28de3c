import { type RawBuilder, sql } from 'kysely'

/**
 * The indexes of `users` for clean-up, by name, each with the part of its definition after the table name. Clean-up repeatedly
 * deletes a few rows, which are always the first of an index. `auth adopt` creates the indexes without a lock.
 */
export const CLEAN_UP_INDEXES: Readonly<Record<string, RawBuilder<unknown>>> = {
  users_staged_at_idx: sql`(staged_at) WHERE staged_at IS NOT NULL`,
  users_anonymous_idx: sql`(is_anonymous, created_at) WHERE is_anonymous AND NOT keep_unconfirmed`,
  users_unconfirmed_idx: sql`(confirmation_sent_at)
    WHERE confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed`,
}
