// Why: whoever listens to a merchant is told that it changed, in the transaction of the change; and persons may call too.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createUpdateMerchantFunction } from './0011-update-merchant-function.ts'

/** The event carries the merchant as it is from now on, with its balance: later changes must not show in it. */
async function createNoteUpdate(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('note_merchant_update')}(p_merchant ${names.id('merchants')}) RETURNS void
    LANGUAGE sql VOLATILE AS $$
      SELECT ${names.id('note_event')}(
        b.merchant_id, 'merchant.updated', b.merchant_id,
        to_jsonb(p_merchant) || jsonb_build_object('balance', b.balance)
      )
      FROM ${names.id('merchant_balances')} b WHERE b.merchant_id = p_merchant.id
    $$`.execute(db)
}

async function createUpdate(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('update_merchant')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_changes jsonb, p_fixed jsonb
    ) RETURNS TABLE (verdict text, identity_id text, differing text[])
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      merchant ${names.id('merchants')};
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      SELECT m.* INTO merchant FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      SELECT coalesce(array_agg(given.key), '{}') INTO differing
        FROM jsonb_each(p_fixed) given
        WHERE given.value IS DISTINCT FROM ${names.id('merchant_fixed_members')}(merchant) -> given.key;
      IF p_changes IS NOT NULL AND differing = '{}' THEN
        UPDATE ${names.id('merchants')} m SET
            name = CASE WHEN p_changes ? 'name' THEN p_changes ->> 'name' ELSE m.name END,
            email = coalesce(p_changes ->> 'email', m.email),
            descriptor = coalesce(p_changes ->> 'descriptor', m.descriptor)
          WHERE m.id = p_merchant_id AND (
            p_changes ? 'name' AND m.name IS DISTINCT FROM p_changes ->> 'name'
            OR m.email <> p_changes ->> 'email' OR m.descriptor <> p_changes ->> 'descriptor'
          )
          RETURNING m.* INTO merchant;
        IF FOUND THEN PERFORM ${names.id('note_merchant_update')}(merchant); END IF;
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

export const tellMerchantChanges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('update_merchant')}(bytea, text, jsonb, jsonb)`.execute(db)
    await createNoteUpdate(db, names)
    await createUpdate(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('update_merchant')}(${names.id('caller')}, text, jsonb, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('note_merchant_update')}(${names.id('merchants')})`.execute(db)
    await sql`DROP FUNCTION ${names.id('merchant_fixed_members')}(${names.id('merchants')})`.execute(db)
    await createUpdateMerchantFunction(names).up(db)
  },
})
