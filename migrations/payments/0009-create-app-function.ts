// Why: an app and its first key come into being together, in one statement.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAppFunction: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('create_app')}(p_key_mac bytea, p_hint text, p_name text) RETURNS text
      LANGUAGE plpgsql VOLATILE AS $$
      DECLARE
        app record;
        app_key record;
      BEGIN
        app := ${names.id('new_id')}(${names.id('random_tag')}());
        app_key := ${names.id('new_id')}(${names.id('random_tag')}());
        INSERT INTO ${names.id('apps')} (id, name, created) VALUES (app.id, p_name, app.created);
        INSERT INTO ${names.id('app_keys')} (id, app_id, mac, hint, created)
          VALUES (app_key.id, app.id, p_key_mac, p_hint, app_key.created);
        PERFORM ${names.id('add_audit')}(repeat('0', 24), app.id, 'key.created', jsonb_build_object('id', app_key.id));
        RETURN app.id;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_app')}(bytea, text, text)`.execute(db)
  },
})
