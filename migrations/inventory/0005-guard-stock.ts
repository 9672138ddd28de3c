// No role can delete a product or location with stock. `check_target` and the foreign keys of levels lock both rows until a
// movement commits. A deletion waits for such movements, then checks the stock, and blocks later movements until it ends.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

const GUARDED = [
  { table: 'products', column: 'product_id' },
  { table: 'locations', column: 'location_id' },
] as const

export const guardStock: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const { table, column } of GUARDED) {
      // Reserved stock is also on hand, so a check of `on_hand` covers both.
      await sql`
        CREATE FUNCTION ${names.id(`guard_${table}`)}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM FROM ${names.id(table)} t WHERE t.id = OLD.id FOR UPDATE;
          IF EXISTS (
            SELECT FROM ${names.id('stock_levels')} l WHERE l.${sql.id(column)} = OLD.id AND l.on_hand > 0
          ) THEN
            RAISE EXCEPTION '% still has stock', OLD.id
              USING ERRCODE = 'check_violation', CONSTRAINT = ${sql.lit(`${names.prefix}${table}_stock_check`)};
          END IF;
          RETURN NEW;
        END $$`.execute(db)
      await sql`
        CREATE TRIGGER ${names.local(`${table}_stock_check`)} BEFORE UPDATE OF deleted_at ON ${names.id(table)}
        FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
        EXECUTE FUNCTION ${names.id(`guard_${table}`)}()`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    for (const { table } of GUARDED) {
      await sql`DROP TRIGGER ${names.local(`${table}_stock_check`)} ON ${names.id(table)}`.execute(db)
      await sql`DROP FUNCTION ${names.id(`guard_${table}`)}()`.execute(db)
    }
  },
})
