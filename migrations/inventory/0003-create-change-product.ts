// Changes of products. What a change is based on (If-Match) is judged under the row's lock, in the statement that writes, so
// that two changes based on one version cannot both pass. A merge patch is applied here (RFC 7396), because numbers keep
// their digits only where they stay jsonb.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createChangeProduct = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await createMergePatch(db, names)
    await createAttributesFault(db, names)
    await createChange(db, names)
    await createDelete(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('delete_product')}(bigint, integer[])`.execute(db)
    await sql`DROP FUNCTION ${names.id('change_product')}(bigint, integer[], text, jsonb, boolean, integer)`.execute(db)
    await sql`DROP FUNCTION ${names.id('attributes_fault')}(jsonb, integer)`.execute(db)
    await sql`DROP FUNCTION ${names.id('merge_patch')}(jsonb, jsonb)`.execute(db)
  },
})

/** RFC 7396: a member that is null removes, an object goes into the object that is there, anything else takes the place. */
async function createMergePatch(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('merge_patch')}(target jsonb, patch jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE WHEN jsonb_typeof(patch) <> 'object' THEN patch ELSE (
        SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM (
          SELECT key, value FROM jsonb_each(CASE WHEN jsonb_typeof(target) = 'object' THEN target ELSE '{}' END)
            WHERE NOT patch ? key
          UNION ALL
          SELECT key, ${names.id('merge_patch')}(target -> key, value) FROM jsonb_each(patch) WHERE value <> 'null'
        ) members
      ) END
    $$`.execute(db)
}

/** Why attributes cannot be stored, null when they can: nobody sees before what a patch leads to. The bounds are those of the API. */
async function createAttributesFault(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('attributes_fault')}(attributes jsonb, bytes_max integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT CASE
        WHEN attributes = 'null' THEN 'null'
        WHEN octet_length(attributes::text) > bytes_max THEN 'bytes'
        WHEN attributes @? 'strict $.**{32} ? (@.type() == "object" || @.type() == "array")' THEN 'depth'
        WHEN (SELECT count(*) FROM jsonb_path_query(attributes, 'strict $.** ? (@.type() == "object")') objects,
          jsonb_object_keys(objects)) > 1000 THEN 'keys'
      END
    $$`.execute(db)
}

/** Null for the sku or the attributes leaves them as they are; null for the versions takes any. */
async function createChange(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('change_product')}(
      p_id bigint, p_versions integer[], p_sku text, p_attributes jsonb, p_merge boolean, p_bytes_max integer,
      OUT verdict text, OUT changed boolean, OUT new_sku text, OUT new_attributes text, OUT new_version integer
    ) LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      held_sku text;
      held jsonb;
      held_version integer;
      next jsonb;
    BEGIN
      SELECT p.sku, p.attributes, p.version INTO held_sku, held, held_version
        FROM ${names.id('products')} p WHERE p.id = p_id AND p.deleted_at IS NULL FOR NO KEY UPDATE;
      ${judge()}
      next := CASE WHEN p_attributes IS NULL THEN held
        WHEN p_merge THEN ${names.id('merge_patch')}(held, p_attributes) ELSE p_attributes END;
      -- Printed with spaces, what is there may be above the bound: then it may not grow.
      verdict := CASE WHEN p_merge THEN 'attributes-'
        || ${names.id('attributes_fault')}(next, greatest(p_bytes_max, octet_length(held::text))) END;
      IF verdict IS NOT NULL THEN RETURN; END IF;
      verdict := 'done';
      new_sku := coalesce(p_sku, held_sku);
      new_attributes := next::text;
      -- As text: to jsonb 0.1 and 0.10 are equal, to a client they are not.
      changed := new_sku <> held_sku OR new_attributes <> held::text;
      new_version := held_version + changed::integer;
      IF NOT changed THEN RETURN; END IF;
      UPDATE ${names.id('products')} SET sku = new_sku, attributes = next, version = new_version,
        revision = nextval('${names.id('product_revision_seq')}'), updated_at = now() WHERE id = p_id;
    END $$`.execute(db)
}

/** The row stays, for the stock movements that point at it; its id answers 404 and its sku is free. */
async function createDelete(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('delete_product')}(p_id bigint, p_versions integer[], OUT verdict text)
    LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
    DECLARE
      held_version integer;
    BEGIN
      SELECT p.version INTO held_version FROM ${names.id('products')} p
        WHERE p.id = p_id AND p.deleted_at IS NULL FOR NO KEY UPDATE;
      ${judge()}
      verdict := 'done';
      UPDATE ${names.id('products')} SET deleted_at = now(), updated_at = now(), version = held_version + 1,
        revision = nextval('${names.id('product_revision_seq')}') WHERE id = p_id;
    END $$`.execute(db)
}

function judge(): RawBuilder<unknown> {
  return sql`
      verdict := CASE WHEN NOT FOUND THEN 'not-found' WHEN held_version <> ALL (p_versions) THEN 'stale' END;
      IF verdict IS NOT NULL THEN RETURN; END IF;`
}
