import { type Kysely, sql } from 'kysely'
import type { Names } from '../migration.ts'

/**
 * The user who first confirms an account takes it over, because its earlier content may be a stranger's. `confirmed_at` does not
 * show whether this is the first time: it becomes null again when an established account gets another address or loses its own.
 * The first change of a confirmation writes `claimed_at`. So do two other actions: an admin creates a user, or a user signs in
 * through a provider that reports no address, because nobody else can own such a user. Until then, a confirmed row needs no
 * claim.
 *
 * The trigger has the rights of its owner, because SQL of other roles may confirm a user. No other role may create a trigger with
 * its function on its own table.
 */
export async function createClaim(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('claim_user')}() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      NEW.claimed_at := LEAST(OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at);
      DELETE FROM ${names.id('sign_up_contents')} c WHERE c.user_id = NEW.id;
      RETURN NEW;
    END
    $$`.execute(db)
  await sql`REVOKE EXECUTE ON FUNCTION ${names.id('claim_user')}() FROM PUBLIC`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('users_claimed')}
    BEFORE UPDATE OF email_confirmed_at, phone_confirmed_at ON ${names.id('users')}
    FOR EACH ROW WHEN (NEW.claimed_at IS NULL AND num_nonnulls(
      OLD.email_confirmed_at, OLD.phone_confirmed_at, NEW.email_confirmed_at, NEW.phone_confirmed_at) > 0)
    EXECUTE FUNCTION ${names.id('claim_user')}()`.execute(db)
}

/** Drops the trigger of `createClaim` and its function. */
export async function dropClaim(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`DROP TRIGGER ${names.local('users_claimed')} ON ${names.id('users')}`.execute(db)
  await sql`DROP FUNCTION ${names.id('claim_user')}()`.execute(db)
}
