import { type RawBuilder, sql } from 'kysely'
import type { Names } from '../migration.ts'

// Frozen with 0015 to 0017.

/** The SQLSTATE of a refusal on its way to the function that answers. */
export const REFUSED = 'TR001'

/**
 * What a function that answers a request returns: `done` or `replayed` with the answer, or why not, with the quantity that a
 * refusal is about and, among several, the line that is refused.
 */
export const ANSWER = sql`TABLE (verdict text, answer json, quantity bigint, line int)`

interface AnsweredCall {
  /** Variables of the work. */
  readonly declare: RawBuilder<unknown>
  /** Statements that carry the request out and set `answer`. */
  readonly work: RawBuilder<unknown>
  /** The HTTP status of the answer. */
  readonly status: number
}

/** The body of such a function: claims the key of `p_caller`, works, keeps the answer. A refusal undoes all of it. */
export function answeredCall(names: Names, { declare, work, status }: AnsweredCall): RawBuilder<unknown> {
  return sql`
      #variable_conflict use_column
      DECLARE
        claim record;
        refused text;
        ${declare}
      BEGIN
        IF p_caller.key IS NOT NULL THEN
          SELECT * INTO claim FROM ${names.id('claim_key')}(p_caller);
          IF claim.verdict <> 'claimed' THEN
            verdict := claim.verdict;
            answer := claim.body;
            RETURN NEXT;
            RETURN;
          END IF;
        END IF;
        ${work}
        IF p_caller.key IS NOT NULL THEN
          PERFORM ${names.id('finish_key')}(p_caller, ${sql.lit(status)}, NULL, answer);
        END IF;
        verdict := 'done';
        RETURN NEXT;
      EXCEPTION WHEN SQLSTATE ${sql.lit(REFUSED)} THEN
        GET STACKED DIAGNOSTICS verdict = MESSAGE_TEXT, refused = PG_EXCEPTION_DETAIL;
        quantity := nullif(refused, '')::bigint;
        RETURN NEXT;
      END`
}
