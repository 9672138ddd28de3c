// Why: every call that serves a request judges the same things in the same order: who calls, what is meant, may they.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** What is common to the calls of one request: who asks, and the idempotency key with its scope, where one was given. */
async function createCaller(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TYPE ${names.id('caller')} AS (
      key_mac bytea, person text, method text, path text, key text, fingerprint bytea
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('caller')}.person IS 'verified e-mail address, where no key was given'`.execute(
    db,
  )
  await sql`
    CREATE FUNCTION ${names.id('identify')}(p_key_mac bytea, p_person text) RETURNS TABLE (identity_id text)
    LANGUAGE sql STABLE AS $$
      SELECT c.identity_id FROM ${names.id('caller_identity')}(p_key_mac) c
      UNION ALL
      SELECT u.id FROM ${names.id('users')} u WHERE lower(u.email) = lower(p_person)
    $$`.execute(db)
}

/**
 * The merchants under which an id may lie: that of its tag, or the one that a seeded id is listed under. At most one of
 * them has the row.
 */
async function createOwners(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('owners')}(p_id text) RETURNS TABLE (merchant_id text) LANGUAGE sql STABLE AS $$
      SELECT m.id FROM ${names.id('merchants')} m WHERE m.tag = right(p_id, 8)
      UNION ALL
      SELECT a.merchant_id FROM ${names.id('id_aliases')} a WHERE a.id = p_id
    $$`.execute(db)
}

export const createAccess: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createCaller(db, names)
    await createOwners(db, names)
    // p_merchant_id: that of the path, or the merchant of its object; NULL when there is no such object.
    await sql`
      CREATE FUNCTION ${names.id('judge_access')}(
        p_caller ${names.id('caller')}, p_merchant_id text, OUT verdict text, OUT identity_id text
      ) LANGUAGE plpgsql STABLE AS $$
      #variable_conflict use_variable
      BEGIN
        SELECT i.identity_id INTO identity_id FROM ${names.id('identify')}(p_caller.key_mac, p_caller.person) i;
        SELECT CASE
            WHEN identity_id IS NULL THEN 'unauthorized'
            WHEN m.id IS NULL THEN 'not-found'
            WHEN s.merchant_id IS NULL THEN 'forbidden'
            ELSE 'done'
          END INTO verdict
          FROM (SELECT) one
          LEFT JOIN ${names.id('merchants')} m ON m.id = p_merchant_id
          LEFT JOIN LATERAL ${names.id('membership')}(m.id, identity_id) s ON true;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('judge_access')}(${names.id('caller')}, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('owners')}(text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('identify')}(bytea, text)`.execute(db)
    await sql`DROP TYPE ${names.id('caller')}`.execute(db)
  },
})
