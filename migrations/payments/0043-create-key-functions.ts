// Why: an app changes keys without a moment in which none is good; its last one must survive whatever runs at once.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/**
 * The row of the app is the lock of its keys: of two requests that revoke each other's key, the second sees what the first
 * did. Locked before the key is judged, so that a key revoked meanwhile makes no other.
 */
function lockKeysOfCaller(names: Names): RawBuilder<unknown> {
  return sql`
      PERFORM FROM ${names.id('caller_identity')}(p_key_mac) c
        JOIN ${names.id('apps')} a ON a.id = c.identity_id FOR UPDATE OF a;`
}

async function createCreateKey(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('create_key')}(p_key_mac bytea, p_new_mac bytea, p_hint text)
    RETURNS TABLE (verdict text, identity_id text, id text, created timestamptz)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    BEGIN${lockKeysOfCaller(names)}
      SELECT c.identity_id INTO identity_id FROM ${names.id('caller_identity')}(p_key_mac) c;
      verdict := CASE
        WHEN identity_id IS NULL THEN 'unauthorized'
        WHEN EXISTS (SELECT FROM ${names.id('apps')} a WHERE a.id = identity_id) THEN 'done'
        ELSE 'forbidden'
      END;
      IF verdict = 'done' AND p_new_mac IS NOT NULL THEN
        SELECT made.* INTO id, created FROM ${names.id('new_id')}(${names.id('random_tag')}()) made;
        INSERT INTO ${names.id('app_keys')} (id, app_id, mac, hint, created)
          VALUES (id, identity_id, p_new_mac, p_hint, created);
        PERFORM ${names.id('add_audit')}(repeat('0', 24), identity_id, 'key.created', jsonb_build_object('id', id));
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

async function createRevokeKey(db: Kysely<unknown>, names: Names): Promise<void> {
  const active = (alias: string) =>
    sql.raw(`${alias}.revoked IS NULL AND (${alias}.expires IS NULL OR ${alias}.expires > now())`)
  await sql`
    CREATE FUNCTION ${names.id('revoke_key')}(p_key_mac bytea, p_key_id text)
    RETURNS TABLE (verdict text, identity_id text, is_last boolean)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    BEGIN${lockKeysOfCaller(names)}
      SELECT c.identity_id INTO identity_id FROM ${names.id('caller_identity')}(p_key_mac) c;
      IF NOT FOUND THEN verdict := 'unauthorized'; RETURN NEXT; RETURN; END IF;
      PERFORM FROM ${names.id('app_keys')} k WHERE k.id = p_key_id AND k.app_id = identity_id AND ${active('k')};
      verdict := CASE WHEN FOUND THEN 'done' ELSE 'not-found' END;
      is_last := NOT EXISTS (
        SELECT FROM ${names.id('app_keys')} k
        WHERE k.app_id = identity_id AND k.id <> p_key_id AND ${active('k')}
      );
      IF verdict = 'done' AND NOT is_last THEN
        UPDATE ${names.id('app_keys')} k SET revoked = now() WHERE k.id = p_key_id;
        PERFORM ${names.id('add_audit')}(
          repeat('0', 24), identity_id, 'key.revoked', jsonb_build_object('id', p_key_id)
        );
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

export const createKeyFunctions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createCreateKey(db, names)
    await createRevokeKey(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('revoke_key')}(bytea, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('create_key')}(bytea, bytea, text)`.execute(db)
  },
})
