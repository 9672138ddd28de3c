// Locations have versions, as products have: a change may be based on one, which is judged under the row's lock. A trigger
// counts them, so that changes by processes of the version before, which know of none, are counted too.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const versionLocations = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`ALTER TABLE ${names.id('locations')} ADD COLUMN version integer NOT NULL DEFAULT 1`.execute(db)
    await createTrigger(db, names)
    await createChange(db, names)
    await createDelete(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('delete_location')}(bigint, integer[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('change_location')}(bigint, integer[], text, text, boolean)`.execute(db)
    await sql`DROP TRIGGER ${names.local('locations_version')} ON ${names.id('locations')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('count_location_version')}()`.execute(db)
    await sql`ALTER TABLE ${names.id('locations')} DROP COLUMN version`.execute(db)
  },
})

/** A change that alters nothing keeps the version. */
async function createTrigger(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('count_location_version')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.version := OLD.version + 1;
      RETURN NEW;
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('locations_version')} BEFORE UPDATE ON ${names.id('locations')}
    FOR EACH ROW WHEN ((OLD.code, OLD.name, OLD.active) IS DISTINCT FROM (NEW.code, NEW.name, NEW.active))
    EXECUTE FUNCTION ${names.id('count_location_version')}()`.execute(db)
}

/** Null for a member leaves it as it is; null for the versions takes any. */
async function createChange(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('change_location')}(
      p_id bigint, p_versions integer[], p_code text, p_name text, p_active boolean,
      OUT verdict text, OUT code text, OUT name text, OUT active boolean, OUT version integer
    ) LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    #variable_conflict use_column
    DECLARE
      held_version integer;
    BEGIN
      ${judge(names)}
      UPDATE ${names.id('locations')} l
        SET code = coalesce(p_code, l.code), name = coalesce(p_name, l.name), active = coalesce(p_active, l.active)
        WHERE l.id = p_id RETURNING 'done', l.code, l.name, l.active, l.version
        INTO verdict, code, name, active, version;
    END $$`.execute(db)
}

async function createDelete(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('delete_location')}(p_id bigint, p_versions integer[], OUT verdict text)
    LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      held_version integer;
    BEGIN
      ${judge(names)}
      UPDATE ${names.id('locations')} l SET deleted_at = now() WHERE l.id = p_id;
      verdict := 'done';
    END $$`.execute(db)
}

function judge(names: Names): RawBuilder<unknown> {
  return sql`SELECT l.version INTO held_version FROM ${names.id('locations')} l
        WHERE l.id = p_id AND l.deleted_at IS NULL FOR NO KEY UPDATE;
      verdict := CASE WHEN NOT FOUND THEN 'not-found' WHEN held_version <> ALL (p_versions) THEN 'stale' END;
      IF verdict IS NOT NULL THEN RETURN; END IF;`
}
