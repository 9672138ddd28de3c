// Why: access, the immutable members and the change are judged in one statement, against the row as it is then.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** The members of a merchant that never change, by the path a client writes them under. */
async function createFixedMembers(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('merchant_fixed_members')}(m ${names.id('merchants')}) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
      SELECT jsonb_build_object(
        'id', m.id, 'key', m.key, 'currency', m.currency, 'test', m.test, 'website', m.website,
        'company.country', m.country, 'company.number', m.company_number, 'bank.iban', m.iban,
        'created', to_char(m.created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      )
    $$`.execute(db)
}

export const createUpdateMerchantFunction: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createFixedMembers(db, names)
    await sql`
      CREATE FUNCTION ${names.id('update_merchant')}(
        p_key_mac bytea, p_merchant_id text, p_changes jsonb, p_fixed jsonb
      ) RETURNS TABLE (verdict text, identity_id text, differing text[])
      LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      DECLARE
        held ${names.id('merchants')};
      BEGIN
        SELECT c.identity_id INTO identity_id FROM ${names.id('caller_identity')}(p_key_mac) c;
        IF NOT FOUND THEN verdict := 'unauthorized'; RETURN NEXT; RETURN; END IF;
        SELECT m.* INTO held FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
        IF NOT FOUND THEN verdict := 'not-found'; RETURN NEXT; RETURN; END IF;
        PERFORM FROM ${names.id('membership')}(held.id, identity_id);
        IF NOT FOUND THEN verdict := 'forbidden'; RETURN NEXT; RETURN; END IF;
        verdict := 'done';
        SELECT coalesce(array_agg(given.key), '{}') INTO differing
          FROM jsonb_each(p_fixed) given
          WHERE given.value IS DISTINCT FROM ${names.id('merchant_fixed_members')}(held) -> given.key;
        IF p_changes IS NOT NULL AND differing = '{}' THEN
          UPDATE ${names.id('merchants')} m SET
            name = CASE WHEN p_changes ? 'name' THEN p_changes ->> 'name' ELSE m.name END,
            email = coalesce(p_changes ->> 'email', m.email),
            descriptor = coalesce(p_changes ->> 'descriptor', m.descriptor)
          WHERE m.id = held.id;
        END IF;
        RETURN NEXT;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('update_merchant')}(bytea, text, jsonb, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('merchant_fixed_members')}(${names.id('merchants')})`.execute(db)
  },
})
