// A key that was used for another request is refused without a word of what that one was answered.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const mendClaimKey = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('claim_key')}(
        p_caller ${names.id('caller')}, OUT verdict text, OUT status int, OUT headers json, OUT body json
      ) LANGUAGE plpgsql VOLATILE SET lock_timeout = '5s' AS $$
      #variable_conflict use_column
      BEGIN
        INSERT INTO ${names.id('idempotency_keys')} AS k (subject, key, path, request_hash)
          VALUES (coalesce(p_caller.actor, ''), p_caller.key, p_caller.path, p_caller.request_hash)
          ON CONFLICT (subject, key) DO UPDATE
            SET path = EXCLUDED.path, request_hash = EXCLUDED.request_hash, status = NULL, headers = NULL, body = NULL,
              created_at = EXCLUDED.created_at
            WHERE k.created_at < clock_timestamp() - interval '24 hours';
        IF FOUND THEN
          verdict := 'claimed';
          RETURN;
        END IF;
        SELECT 'replayed', k.status, k.headers, k.body INTO verdict, status, headers, body
          FROM ${names.id('idempotency_keys')} k
          WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key
            AND k.path = p_caller.path AND k.request_hash = p_caller.request_hash;
        IF NOT FOUND THEN verdict := 'key-mismatch'; END IF;
      EXCEPTION WHEN lock_not_available THEN
        verdict := 'key-running';
      END $$`.execute(db)
  },
  // The function of 0014 goes with its table; until then this one does what that did, and more safely.
  down: async () => {},
})
