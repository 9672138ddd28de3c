import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'

const forgetQuery = prepare(
  'forget_keys',
  (p: { limit: number }) => sql<{ forgotten: number }>`
    WITH forgotten AS (
      DELETE FROM ${sql.table('idempotency_keys')} WHERE (subject, key) IN (
        SELECT subject, key FROM ${sql.table('idempotency_keys')}
        WHERE created_at < now() - interval '24 hours' LIMIT ${p.limit} FOR UPDATE SKIP LOCKED
      ) RETURNING 1
    )
    SELECT count(*)::int AS forgotten FROM forgotten`,
)

/** Deletes keys that are no longer remembered, at most `limit`. Resolves to how many they were. */
export async function callForgetKeys(lanes: Lanes, limit: number): Promise<number> {
  return (await lanes.write.one(forgetQuery, { limit })).forgotten
}
