import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

// The interval between two messages counts by audience. An account that nobody has confirmed follows the newest request, so a
// stranger replaced the content of a signup at once by a signup in each other audience. Now a signup in another audience than
// that of the account changes and sends nothing as long as the last message to it is younger than the interval.
export const holdOtherAudiences: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await replaceInSignUp(db, names, { from: JUDGED, to: `${JUDGED}${holding(names)}` })
  },
  async down(db: Kysely<unknown>) {
    await replaceInSignUp(db, names, { from: `${JUDGED}${holding(names)}`, to: JUDGED })
  },
})

/** The line of 0022 after which a signup knows its verdict, and before which 0088 takes it on. */
const JUDGED = "ELSE 'repeated' END;"

/** The holder is locked. What is sent again goes out a moment later, so its message counts as of now. */
function holding({ schema, prefix }: Names): string {
  const tokens = `"${schema}"."${prefix}one_time_tokens"`
  return `
        IF verdict = 'sent-again' AND holder.aud <> p_aud THEN
          IF EXISTS (SELECT FROM ${tokens} t WHERE t.user_id = holder.id AND t.sent_at > p_due_before) THEN
            verdict := 'repeated';
          ELSE
            UPDATE ${tokens} t SET sent_at = p_now WHERE t.user_id = holder.id;
          END IF;
        END IF;`
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
      IF strpos(definition, ${sql.lit(from)}) = 0 THEN RAISE EXCEPTION 'the function sign_up is not the one of 0088'; END IF;
      EXECUTE replace(definition, ${sql.lit(from)}, ${sql.lit(to)});
    END $do$`.execute(db)
}
