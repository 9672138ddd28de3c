// Why: a merchant's apps are added and revoked by any member, each by one call that also tells it as an event.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** p_app_id: NULL when only access is to be checked. A member that is there already stays as it is. */
async function createAddApp(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('add_app')}(p_caller ${names.id('caller')}, p_merchant_id text, p_app_id text)
    RETURNS TABLE (verdict text, identity_id text, app ${names.id('apps')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      claimed record;
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' OR p_app_id IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
      IF claimed.verdict <> 'claimed' THEN verdict := claimed.verdict; END IF;
      SELECT a.* INTO app FROM ${names.id('apps')} a WHERE a.id = p_app_id;
      IF verdict = 'done' AND NOT FOUND THEN
        verdict := 'unknown-app';
        PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, identity_id);
      END IF;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      INSERT INTO ${names.id('merchant_apps')} (merchant_id, app_id, invited_by, created)
        VALUES (p_merchant_id, p_app_id, identity_id, date_trunc('milliseconds', clock_timestamp()))
        ON CONFLICT DO NOTHING;
      IF FOUND THEN
        PERFORM ${names.id('note_event')}(p_merchant_id, 'app.added', p_app_id, NULL);
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, identity_id, 'app.added', jsonb_build_object('appId', p_app_id)
        );
      END IF;
      PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 201, p_app_id, NULL, NULL);
      RETURN NEXT;
    END $$`.execute(db)
}

/** Takes effect for the very next call of the app, also when it revokes itself as the last member. */
async function createRevokeApp(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('revoke_app')}(p_caller ${names.id('caller')}, p_merchant_id text, p_app_id text)
    RETURNS TABLE (verdict text, identity_id text)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      DELETE FROM ${names.id('merchant_apps')} a WHERE a.merchant_id = p_merchant_id AND a.app_id = p_app_id;
      IF FOUND THEN
        PERFORM ${names.id('note_event')}(p_merchant_id, 'app.revoked', p_app_id, NULL);
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, identity_id, 'app.revoked', jsonb_build_object('appId', p_app_id)
        );
      ELSE
        verdict := 'not-found';
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

export const createAppMembers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createAddApp(db, names)
    await createRevokeApp(db, names)
  },
  async down(db: Kysely<unknown>) {
    const caller = names.id('caller')
    await sql`DROP FUNCTION ${names.id('revoke_app')}(${caller}, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('add_app')}(${caller}, text, text)`.execute(db)
  },
})
