// An app is a program that calls the API. Only keyed digests of its keys are stored, so the database reveals no key.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createApps: MigrationSource = (names) => ({
  tables: { apps: 'reference', app_keys: 'reference', app_invitations: 'reference' },
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
    // Operators find apps by the beginning of their names, in any case, and by the end of a key.
    await sql`
      CREATE INDEX ${names.local('apps_name_ix')} ON ${names.id('apps')} ((lower(left(name, 255)) COLLATE "C"), id)`.execute(
      db,
    )
    await createKeys(db, names)
    await createInvitations(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${sql.join(['app_invitations', 'app_keys', 'apps'].map(names.id))}`.execute(db)
  },
})

async function createKeys(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('app_keys')} (
      id text COLLATE "C" NOT NULL,
      app_id text COLLATE "C" NOT NULL,
      mac bytea NOT NULL,
      hint text NOT NULL,
      scopes text[],
      created timestamptz(3) NOT NULL,
      last_used timestamptz(3),
      expires timestamptz(3),
      revoked timestamptz(3),
      CONSTRAINT ${names.local('app_keys_pk')} PRIMARY KEY (app_id, id),
      CONSTRAINT ${names.local('app_keys_app_fk')} FOREIGN KEY (app_id) REFERENCES ${names.id('apps')} (id),
      CONSTRAINT ${names.local('app_keys_mac_uq')} UNIQUE (mac),
      CONSTRAINT ${names.local('app_keys_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$'),
      CONSTRAINT ${names.local('app_keys_mac_ck')} CHECK (octet_length(mac) = 32)
    )`.execute(db)
  // An app may have any number of keys, including revoked ones. Lists show the newest ones.
  await sql`
    CREATE INDEX ${names.local('app_keys_kept_ix')} ON ${names.id('app_keys')} (app_id, id) WHERE revoked IS NULL`.execute(
    db,
  )
  await sql`CREATE INDEX ${names.local('app_keys_hint_ix')} ON ${names.id('app_keys')} (hint, app_id)`.execute(db)
}

/**
 * If registration is by invitation, an app is created with a code from an operator. A code creates one app. Without this, anybody
 * could create apps, and an operator could only slow that down.
 */
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
