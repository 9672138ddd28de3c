// Why: a client that sends POST /merchants again must find its merchant instead of making a second one.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createMerchantFunction } from './0010-create-merchant-function.ts'

/** What an Idempotency-Key made. Its merchant is not known beforehand, so the row lies below none. */
async function createCreations(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('merchant_creations')} (
      identity_id text COLLATE "C" NOT NULL,
      key text NOT NULL,
      fingerprint bytea NOT NULL,
      status smallint,
      body jsonb,
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('merchant_creations_pk')} PRIMARY KEY (identity_id, key),
      CONSTRAINT ${names.local('creations_fingerprint_ck')} CHECK (octet_length(fingerprint) = 32)
    )`.execute(db)
  await sql`
    COMMENT ON COLUMN ${names.id('merchant_creations')}.body IS 'the row of the merchant as it was'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('merchant_creations_created_ix')} ON ${names.id('merchant_creations')} (created)
  `.execute(db)
}

/** The unique key makes a second request wait for the first. `claimed` also when no key was given. */
async function createClaim(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('claim_creation')}(
      p_caller ${names.id('caller')}, p_identity_id text, OUT verdict text, OUT merchant ${names.id('merchants')}
    ) LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      held ${names.id('merchant_creations')};
    BEGIN
      verdict := 'claimed';
      IF p_caller.key IS NULL THEN RETURN; END IF;
      INSERT INTO ${names.id('merchant_creations')} (identity_id, key, fingerprint, created)
        VALUES (p_identity_id, p_caller.key, p_caller.fingerprint, now()) ON CONFLICT DO NOTHING;
      IF FOUND THEN RETURN; END IF;
      SELECT c.* INTO held FROM ${names.id('merchant_creations')} c
        WHERE c.identity_id = p_identity_id AND c.key = p_caller.key;
      merchant := jsonb_populate_record(NULL::${names.id('merchants')}, held.body);
      PERFORM FROM ${names.id('membership')}(merchant.id, p_identity_id);
      verdict := CASE
        WHEN NOT FOUND THEN 'forbidden'
        WHEN held.fingerprint <> p_caller.fingerprint THEN 'key-mismatch'
        ELSE 'replayed'
      END;
    END $$`.execute(db)
}

/** Makes the caller, an app or a person, the first member. */
async function createAddFirstMember(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('add_first_member')}(p_merchant ${names.id('merchants')}, p_identity_id text)
    RETURNS void LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      INSERT INTO ${names.id('merchant_apps')} (merchant_id, app_id, created)
        SELECT p_merchant.id, a.id, p_merchant.created FROM ${names.id('apps')} a WHERE a.id = p_identity_id;
      IF FOUND THEN
        PERFORM ${names.id('add_audit')}(
          p_merchant.id, p_identity_id, 'app.added', jsonb_build_object('appId', p_identity_id)
        );
      ELSE
        INSERT INTO ${names.id('merchant_users')} (merchant_id, user_id, created)
          VALUES (p_merchant.id, p_identity_id, p_merchant.created);
        PERFORM ${names.id('add_audit')}(
          p_merchant.id, p_identity_id, 'user.added', jsonb_build_object('userId', p_identity_id)
        );
      END IF;
    END $$`.execute(db)
}

async function createCreate(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('create_merchant')}(p_caller ${names.id('caller')}, p_merchant jsonb)
    RETURNS TABLE (verdict text, identity_id text, merchant ${names.id('merchants')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      claimed record;
    BEGIN
      SELECT i.identity_id INTO identity_id FROM ${names.id('identify')}(p_caller.key_mac, p_caller.person) i;
      verdict := CASE WHEN FOUND THEN 'done' ELSE 'unauthorized' END;
      -- No values: access check only, for a request whose body is already refused.
      IF verdict <> 'done' OR p_merchant IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_creation')}(p_caller, identity_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := claimed.verdict;
        merchant := claimed.merchant;
        RETURN NEXT; RETURN;
      END IF;
      -- 32 bits: with a hundred million merchants one draw in forty collides; twenty in a row never do.
      FOR draw IN 1..20 LOOP
        SELECT added.* INTO merchant
          FROM ${names.id('add_merchant')}(${names.id('random_tag')}(), p_merchant) added;
        EXIT WHEN FOUND;
      END LOOP;
      IF merchant.id IS NULL THEN RAISE EXCEPTION 'no free merchant tag in 20 draws'; END IF;
      INSERT INTO ${names.id('merchant_balances')} (merchant_id, currency, last_id)
        VALUES (merchant.id, merchant.currency, merchant.id);
      PERFORM ${names.id('add_first_member')}(merchant, identity_id);
      UPDATE ${names.id('merchant_creations')} c SET status = 201, body = to_jsonb(merchant)
        WHERE c.identity_id = identity_id AND c.key = p_caller.key;
      RETURN NEXT;
    END $$`.execute(db)
}

export const repeatMerchants: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_merchant')}(bytea, jsonb)`.execute(db)
    await createCreations(db, names)
    await createClaim(db, names)
    await createAddFirstMember(db, names)
    await createCreate(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_merchant')}(${names.id('caller')}, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('add_first_member')}(${names.id('merchants')}, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('claim_creation')}(${names.id('caller')}, text)`.execute(db)
    await sql`DROP TABLE ${names.id('merchant_creations')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('add_merchant')}(text, jsonb)`.execute(db)
    await createMerchantFunction(names).up(db)
  },
})
