// Why: a client that repeats a request with its Idempotency-Key must find the first effect, or wait for it; never a second one.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

const scope = sql`i.merchant_id = p_merchant_id AND i.identity_id = p_identity_id
            AND i.method = p_caller.method AND i.path = p_caller.path AND i.key = p_caller.key`

export const createIdempotency: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // For a create: the unique key makes a second request wait for the first. `claimed` also when no key was given.
    await sql`
      CREATE FUNCTION ${names.id('claim_key')}(
        p_caller ${names.id('caller')}, p_merchant_id text, p_identity_id text,
        OUT verdict text, OUT held ${names.id('idempotency')}
      ) LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      BEGIN
        verdict := 'claimed';
        IF p_caller.key IS NULL THEN RETURN; END IF;
        INSERT INTO ${names.id('idempotency')} (merchant_id, identity_id, method, path, key, fingerprint, created)
          VALUES (p_merchant_id, p_identity_id, p_caller.method, p_caller.path, p_caller.key, p_caller.fingerprint,
            date_trunc('milliseconds', clock_timestamp()))
          ON CONFLICT DO NOTHING;
        IF FOUND THEN RETURN; END IF;
        SELECT i.* INTO held FROM ${names.id('idempotency')} i WHERE ${scope};
        verdict := CASE
          WHEN held.fingerprint <> p_caller.fingerprint THEN 'key-mismatch'
          WHEN held.status IS NULL THEN 'key-running'
          ELSE 'replayed'
        END;
      END $$`.execute(db)
    // What a claimed key is remembered for: the status, and the object, the processing error or the bytes of the answer.
    await sql`
      CREATE FUNCTION ${names.id('finish_key')}(
        p_caller ${names.id('caller')}, p_merchant_id text, p_identity_id text,
        p_status int, p_object_id text, p_error_code int, p_body text
      ) RETURNS void LANGUAGE sql VOLATILE AS $$
        UPDATE ${names.id('idempotency')} i
          SET status = p_status, object_id = p_object_id, error_code = p_error_code, body = p_body
          WHERE ${scope}
      $$`.execute(db)
    // For a refusal that is not remembered.
    await sql`
      CREATE FUNCTION ${names.id('release_key')}(p_caller ${names.id('caller')}, p_merchant_id text, p_identity_id text)
      RETURNS void LANGUAGE sql VOLATILE AS $$
        DELETE FROM ${names.id('idempotency')} i WHERE ${scope}
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    const caller = names.id('caller')
    await sql`DROP FUNCTION ${names.id('release_key')}(${caller}, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('finish_key')}(${caller}, text, text, int, text, int, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_key')}(${caller}, text, text)`.execute(db)
  },
})
