import { type Kysely, sql } from 'kysely'
import type { Names } from '../migration.ts'

/**
 * The user who confirms an account for the first time takes it over, because what the account had before may be a stranger's.
 * `confirmed_at` cannot say whether it is the first time: it is null again once an established account gets another address or
 * loses its own. The first change of a confirmation writes `claimed_at`. Two other acts write it too: an admin creates a user,
 * or a user signs in through a provider that tells no address, since nobody else can own such a user. A confirmed row needs no
 * claim until then.
 *
 * The trigger has the rights of its owner: SQL of other roles may confirm a user. Nobody else may make a trigger of its
 * function on a table of their own.
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
