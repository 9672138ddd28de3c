import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// Anybody can sign up with the address of somebody else. The owner of the address then signs up, or asks for a code, and
// confirms: the account held the password and the metadata of whoever came first. So each request whose message may confirm an
// account notes what it brings, by the kind of its message, and confirming by a message takes on that of its request. An account
// has rows here while it began with a signup and nobody has confirmed it; of others the account itself says all.
export const keepSignUpContents: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('sign_up_contents')} (
        user_id uuid NOT NULL,
        kind text NOT NULL,
        aud text NOT NULL,
        data jsonb NOT NULL,
        password_hash text,
        CONSTRAINT ${names.local('sign_up_contents_pkey')} PRIMARY KEY (user_id, kind),
        CONSTRAINT ${names.local('sign_up_contents_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE
      )`.execute(db)
    // The holder is locked. A signup that sends nothing changes nothing; nor does one for a user whom an admin has made.
    await sql`
      CREATE FUNCTION ${names.id('note_sign_up')}(
        p_user_id uuid, p_verdict text, p_kind text, p_aud text, p_data jsonb, p_password_hash text
      ) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      BEGIN
        IF p_verdict = 'sent' THEN
          INSERT INTO ${names.id('sign_up_contents')} (user_id, kind, aud, data, password_hash)
            VALUES (p_user_id, p_kind, p_aud, p_data, p_password_hash);
        ELSIF p_verdict = 'sent-again' THEN
          UPDATE ${names.id('sign_up_contents')} c SET aud = p_aud, data = p_data, password_hash = p_password_hash
            WHERE c.user_id = p_user_id AND c.kind = p_kind;
          -- Whoever enters the code is looked for in the audience of their request.
          IF FOUND THEN
            UPDATE ${names.id('users')} u SET aud = p_aud WHERE u.id = p_user_id AND u.aud <> p_aud;
          END IF;
        END IF;
      END $$`.execute(db)
    await replaceInSignUp(db, names, { from: JUDGED, to: `${JUDGED}${noting(names)}` })
  },
  async down(db: Kysely<unknown>) {
    await replaceInSignUp(db, names, { from: `${JUDGED}${noting(names)}`, to: JUDGED })
    await sql`DROP FUNCTION ${names.id('note_sign_up')}(uuid, text, text, text, jsonb, text)`.execute(db)
    await sql`DROP TABLE ${names.id('sign_up_contents')}`.execute(db)
  },
})

/** The line of 0022 after which a signup knows its verdict. */
const JUDGED = "ELSE 'repeated' END;"

function noting({ schema, prefix }: Names): string {
  const call = `"${schema}"."${prefix}note_sign_up"(holder.id, verdict, p_token_kind, p_aud, p_data, p_password_hash)`
  return `\n        PERFORM ${call};`
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
