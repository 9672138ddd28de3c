// Why: a card is kept for a merchant only as long as the merchant may keep cards; access, right and row are one decision.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createCardFunction: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // p_transaction_id: NULL when only access is to be checked. card_id: also that of a replayed answer.
    await sql`
      CREATE FUNCTION ${names.id('create_card')}(
        p_caller ${names.id('caller')}, p_merchant_id text, p_transaction_id text, p_notes text
      ) RETURNS TABLE (verdict text, identity_id text, card_id text, error_code int)
      LANGUAGE plpgsql VOLATILE AS $$
      #variable_conflict use_variable
      DECLARE
        merchant ${names.id('merchants')};
        claimed record;
        source record;
        made record;
      BEGIN
        SELECT j.verdict, j.identity_id INTO verdict, identity_id
          FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
        IF verdict <> 'done' OR p_transaction_id IS NULL THEN RETURN NEXT; RETURN; END IF;
        claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
        IF claimed.verdict <> 'claimed' THEN
          verdict := claimed.verdict;
          card_id := (claimed.held).object_id;
          error_code := (claimed.held).error_code;
          RETURN NEXT; RETURN;
        END IF;
        SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
        SELECT s.* INTO source FROM ${names.id('charge_source')}(p_merchant_id, p_transaction_id, NULL) s;
        IF source.transaction_id IS NULL THEN
          verdict := 'unknown-source';
          PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, identity_id);
        ELSIF NOT (merchant.claim ->> 'canSaveCard')::boolean THEN
          verdict := 'refused';
          error_code := 28;
          PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 400, NULL, error_code, NULL);
        ELSE
          made := ${names.id('new_id')}(merchant.tag);
          card_id := made.id;
          INSERT INTO ${names.id('cards')} (merchant_id, id, created, transaction_id, instrument_id, notes)
            VALUES (p_merchant_id, card_id, made.created, source.transaction_id, (source.instrument).id, p_notes);
          PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 201, card_id, NULL, NULL);
        END IF;
        RETURN NEXT;
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('create_card')}(${names.id('caller')}, text, text, text)`.execute(db)
  },
})
