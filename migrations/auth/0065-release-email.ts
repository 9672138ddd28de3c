import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// An account that a provider has made may have an address that neither the provider nor a mail has verified: anybody can
// tell a provider the address of somebody else, and wait for them to confirm the account. Such an address gives way when
// somebody asks to show that it is theirs, as a signup does: they get an account of their own, and the other one is left
// without an address, and its mails without effect.
export const releaseEmail: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE FUNCTION ${names.id('release_email')}(p_email text, p_now timestamptz) RETURNS boolean
      LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      DECLARE
        claimant uuid;
      BEGIN
        UPDATE ${names.id('users')} u SET email = NULL, updated_at = p_now
          WHERE u.email = p_email AND u.email_confirmed_at IS NULL AND u.staged_at IS NULL
            AND EXISTS (SELECT FROM ${names.id('identities')} i WHERE i.user_id = u.id AND i.provider NOT IN ('email', 'phone'))
            AND NOT EXISTS (SELECT FROM ${names.id('identities')} i WHERE i.user_id = u.id AND i.provider = 'email')
          RETURNING u.id INTO claimant;
        IF NOT FOUND THEN
          RETURN false;
        END IF;
        DELETE FROM ${names.id('one_time_tokens')} t WHERE t.user_id = claimant AND t.relates_to = p_email;
        RETURN true;
      END $$`.execute(db)
    await replaceInSignUp(db, names, { from: HOLDER_STAYS, to: holderGivesWay(names) })
  },
  async down(db: Kysely<unknown>) {
    await replaceInSignUp(db, names, { from: holderGivesWay(names), to: HOLDER_STAYS })
    await sql`DROP FUNCTION ${names.id('release_email')}`.execute(db)
  },
})

/** The line of 0022 at which a signup finds that somebody has its identifier. */
const HOLDER_STAYS = 'EXIT WHEN FOUND AND holder.staged_at IS NULL;'

function holderGivesWay({ schema, prefix }: Names): string {
  return `EXIT WHEN FOUND AND holder.staged_at IS NULL AND NOT "${schema}"."${prefix}release_email"(p_email, p_now);`
}

/** All else of the function stays as it was. One statement: `migrate plan` shows it without a database to ask. */
async function replaceInSignUp(
  db: Kysely<unknown>,
  { schema, prefix }: Names,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await sql`
    DO $do$
    DECLARE
      definition text := pg_get_functiondef(p.oid) FROM pg_proc p
        WHERE p.pronamespace = ${sql.lit(schema)}::regnamespace AND p.proname = ${sql.lit(`${prefix}sign_up`)};
    BEGIN
      IF strpos(definition, ${sql.lit(from)}) = 0 THEN RAISE EXCEPTION 'the function sign_up is not the one of 0022'; END IF;
      EXECUTE replace(definition, ${sql.lit(from)}, ${sql.lit(to)});
    END $do$`.execute(db)
}
