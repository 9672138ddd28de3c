// Idempotency keys: a client that repeats a request with its key must find the first effect, or wait for it; never cause a
// second one. A key is claimed in the transaction of the effect, so a refused request leaves no trace of its key either.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createIdempotency = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await createTable(db, names)
    await createClaimKey(db, names)
    // What a repetition is answered: the member `data` of the body, and headers of the answer's own.
    await sql`
      CREATE FUNCTION ${names.id('finish_key')}(
        p_caller ${names.id('caller')}, p_status int, p_headers json, p_body json
      ) RETURNS void LANGUAGE sql VOLATILE AS $$
        UPDATE ${names.id('idempotency_keys')} k SET status = p_status, headers = p_headers, body = p_body
        WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key
      $$`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('finish_key')}(${names.id('caller')}, int, json, json)`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_key')}(${names.id('caller')})`.execute(db)
    await sql`DROP TYPE ${names.id('caller')}`.execute(db)
    await sql`DROP TABLE ${names.id('idempotency_keys')}`.execute(db)
  },
})

/** `caller`: who asks (null without authentication), and the key of the request with what it is for; null without one. */
async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`CREATE TABLE ${names.id('idempotency_keys')} (
    subject text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    path text NOT NULL,
    request_hash bytea NOT NULL,
    status integer,
    headers json,
    body json,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ${names.local('idempotency_keys_pkey')} PRIMARY KEY (subject, key),
    CONSTRAINT ${names.local('idempotency_keys_key_check')} CHECK (length(key) BETWEEN 1 AND 255),
    CONSTRAINT ${names.local('idempotency_keys_hash_check')} CHECK (octet_length(request_hash) = 32)
  )`.execute(db)
  await sql`CREATE INDEX ${names.local('idempotency_keys_created_idx')}
    ON ${names.id('idempotency_keys')} (created_at)`.execute(db)
  await sql`CREATE TYPE ${names.id('caller')} AS (actor text, key text, path text, request_hash bytea)`.execute(db)
}

/** The primary key makes a second request wait for the first, at most 5 s. A key of yesterday is as good as new. */
async function createClaimKey(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('claim_key')}(
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
      SELECT
          CASE WHEN k.path = p_caller.path AND k.request_hash = p_caller.request_hash
            THEN 'replayed' ELSE 'key-mismatch' END,
          k.status, k.headers, k.body
        INTO verdict, status, headers, body
        FROM ${names.id('idempotency_keys')} k
        WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key;
    EXCEPTION WHEN lock_not_available THEN
      verdict := 'key-running';
    END $$`.execute(db)
}
