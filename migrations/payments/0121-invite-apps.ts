// Why: anybody could make apps, and an operator could only slow that down. Where registration is by invitation, an app is made
// with a code that an operator gave out, once.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

async function createInvitations(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('app_invitations')} (
      code_hash bytea NOT NULL,
      note text,
      created timestamptz(3) NOT NULL,
      expires timestamptz(3) NOT NULL,
      used timestamptz(3),
      app_id text COLLATE "C",
      CONSTRAINT ${names.local('app_invitations_pk')} PRIMARY KEY (code_hash),
      CONSTRAINT ${names.local('app_invitations_hash_ck')} CHECK (octet_length(code_hash) = 32)
    )`.execute(db)
}

/** NULL, and nothing is made, unless the code is good. Of two requests with it the second waits, and finds it used. */
async function createInvited(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('create_invited_app')}(p_code_hash bytea, p_key_mac bytea, p_hint text, p_name text)
    RETURNS text LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
    DECLARE
      made text;
      moment timestamptz := date_trunc('milliseconds', clock_timestamp());
    BEGIN
      UPDATE ${names.id('app_invitations')} i SET used = moment
        WHERE i.code_hash = p_code_hash AND i.used IS NULL AND i.expires > moment;
      IF NOT FOUND THEN RETURN NULL; END IF;
      made := ${names.id('create_app')}(p_key_mac, p_hint, p_name);
      UPDATE ${names.id('app_invitations')} i SET app_id = made WHERE i.code_hash = p_code_hash;
      RETURN made;
    END $$`.execute(db)
}

export const inviteApps: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createInvitations(db, names)
    await createInvited(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_invited_app')}(bytea, bytea, text, text)`.execute(db)
    await sql`DROP TABLE ${names.id('app_invitations')}`.execute(db)
  },
})
