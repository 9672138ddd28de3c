// Why: key, merchant, tag, membership and balance are decided and written by one call, so none exists without the others.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

/** Inserts the merchant under a tag that is free, or answers no row: unique keys decide, not a look beforehand. */
async function createAddMerchant(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('add_merchant')}(p_tag text, p_merchant jsonb)
    RETURNS SETOF ${names.id('merchants')} LANGUAGE sql VOLATILE AS $$
      INSERT INTO ${names.id('merchants')} (
        id, tag, key, name, currency, test, email, website, descriptor,
        country, company_number, iban, claim, pricing, created
      )
      SELECT made.id, p_tag, gen_random_uuid(), v.name, v.currency, v.test, v.email, v.website, v.descriptor,
        v.country, v.company_number, v.iban, v.claim, v.pricing, made.created
      FROM ${names.id('new_id')}(p_tag) made,
        jsonb_to_record(p_merchant) AS v(
          name text, currency text, test boolean, email text, website text, descriptor text,
          country text, company_number text, iban text, claim jsonb, pricing jsonb
        )
      ON CONFLICT ON CONSTRAINT ${names.local('merchants_tag_uq')} DO NOTHING
      RETURNING *
    $$`.execute(db)
}

export const createMerchantFunction: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createAddMerchant(db, names)
    await sql`
      CREATE FUNCTION ${names.id('create_merchant')}(p_key_mac bytea, p_merchant jsonb)
      RETURNS TABLE (verdict text, identity_id text, merchant ${names.id('merchants')})
      LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      BEGIN
        SELECT c.identity_id INTO identity_id FROM ${names.id('caller_identity')}(p_key_mac) c;
        verdict := CASE WHEN FOUND THEN 'done' ELSE 'unauthorized' END;
        -- No values: access check only, for a request whose body is already refused.
        IF verdict <> 'done' OR p_merchant IS NULL THEN RETURN NEXT; RETURN; END IF;
        -- 32 bits: with a hundred million merchants one draw in forty collides; twenty in a row never do.
        FOR draw IN 1..20 LOOP
          SELECT added.* INTO merchant
            FROM ${names.id('add_merchant')}(${names.id('random_tag')}(), p_merchant) added;
          EXIT WHEN FOUND;
        END LOOP;
        IF merchant.id IS NULL THEN RAISE EXCEPTION 'no free merchant tag in 20 draws'; END IF;
        INSERT INTO ${names.id('merchant_apps')} (merchant_id, app_id, created)
          VALUES (merchant.id, identity_id, merchant.created);
        INSERT INTO ${names.id('merchant_balances')} (merchant_id, currency, last_id)
          VALUES (merchant.id, merchant.currency, merchant.id);
        PERFORM ${names.id('add_audit')}(
          merchant.id, identity_id, 'app.added', jsonb_build_object('appId', identity_id)
        );
        RETURN NEXT;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_merchant')}(bytea, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('add_merchant')}(text, jsonb)`.execute(db)
  },
})
