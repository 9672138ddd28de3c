// Why: an app is a machine that calls the API; its keys are stored as keyed digests only.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createApps: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('apps')} (
        id text COLLATE "C" NOT NULL,
        name text,
        hidden boolean NOT NULL DEFAULT false,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('apps_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('apps_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
      )`.execute(db)
    await sql`
      CREATE TABLE ${names.id('app_keys')} (
        id text COLLATE "C" NOT NULL,
        app_id text COLLATE "C" NOT NULL,
        mac bytea NOT NULL,
        hint text NOT NULL,
        scopes text[],
        expires timestamptz(3),
        last_used timestamptz(3),
        created timestamptz(3) NOT NULL,
        revoked timestamptz(3),
        CONSTRAINT ${names.local('app_keys_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('app_keys_app_fk')} FOREIGN KEY (app_id) REFERENCES ${names.id('apps')} (id),
        CONSTRAINT ${names.local('app_keys_mac_uq')} UNIQUE (mac),
        CONSTRAINT ${names.local('app_keys_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$'),
        CONSTRAINT ${names.local('app_keys_mac_ck')} CHECK (octet_length(mac) = 32)
      )`.execute(db)
    await sql`CREATE INDEX ${names.local('app_keys_app_ix')} ON ${names.id('app_keys')} (app_id)`.execute(db)
    // A table function in SQL: the planner writes it into the query that calls it, so it costs one index probe.
    await sql`
      CREATE FUNCTION ${names.id('caller_identity')}(p_key_mac bytea) RETURNS TABLE (identity_id text)
      LANGUAGE sql STABLE AS $$
        SELECT k.app_id FROM ${names.id('app_keys')} k
        WHERE k.mac = p_key_mac AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('caller_identity')}(bytea)`.execute(db)
    await sql`DROP TABLE ${names.id('app_keys')}, ${names.id('apps')}`.execute(db)
  },
})
