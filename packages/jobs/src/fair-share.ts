import { type Kysely, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { AnyTask } from './task.ts'

/** The length of the share of a job without `shareSeconds`. */
const DEFAULT_SHARE_SECONDS = 60
/** 2026-01-01, in seconds since 1970. Priorities count seconds from this time, so that they fit into an integer for 68 years. */
const EPOCH = 1_767_225_600
const INT_MAX = 2_147_483_647
/** Returns SQL for the second at which a job may begin. */
const begin = (startAfter: string) => `floor(extract(epoch FROM greatest(now(), ${startAfter})))::bigint - ${EPOCH}`

/**
 * Installs the fair-share priority of groups as a trigger. Workers take the job with the highest priority first. The priority of
 * a job with a group is the negated second at which its share ends. A share begins when the job may begin, or when the share of
 * the group's last waiting job ends. Its length is the tier of the job: the longer a job keeps a worker, the longer its share. So
 * a quick job runs before slow jobs, and a job of a group without a backlog runs before all backlogs. Each job of a backlog runs
 * before jobs that are sent after the end of its share. While a worker is free, no job waits. Jobs of a group that are stored at
 * the same time may get the same share.
 *
 * The queue inserts a job again after each failure. Jobs with different numbers of failures, or with shares of different lengths,
 * form separate backlogs.
 */
export async function installFairShare(db: Kysely<unknown>, schema: string): Promise<void> {
  const [jobs, setPriority] = [sql.id(schema, 'job_common'), sql.id(schema, 'set_turn')]
  await db.transaction().execute(async (trx) => {
    await sql`
      CREATE OR REPLACE FUNCTION ${setPriority}() RETURNS trigger LANGUAGE plpgsql
      SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        NEW.priority := -least(${sql.lit(INT_MAX)}, coalesce(NEW.group_tier::int, ${sql.lit(DEFAULT_SHARE_SECONDS)}) + greatest(
          ${sql.raw(begin('NEW.start_after'))},
          (SELECT -j.priority::bigint FROM ${jobs} j
           WHERE j.name = NEW.name AND j.group_id = NEW.group_id
             AND coalesce(j.group_tier, '') = coalesce(NEW.group_tier, '') AND j.state = NEW.state AND j.state < 'active'
             AND j.retry_count = NEW.retry_count
           ORDER BY j.priority LIMIT 1)));
        RETURN NEW;
      END $$`.execute(trx)
    // Do not create an existing trigger again, because CREATE would wait for all writers of jobs.
    const { rows } = await sql`
      SELECT FROM pg_trigger WHERE tgrelid = ${`"${schema}".job_common`}::regclass AND tgname = 'job_common_turns'`.execute(
      trx,
    )
    if (rows.length > 0) return
    await sql`DROP TRIGGER IF EXISTS job_common_turn ON ${jobs}`.execute(trx)
    await sql`DROP INDEX IF EXISTS ${sql.id(schema, 'job_common_turns')}`.execute(trx)
    await sql`
      CREATE INDEX job_common_turns ON ${jobs} (name, group_id, coalesce(group_tier, ''), state, retry_count, priority)
      WHERE group_id IS NOT NULL AND state < 'active'`.execute(trx)
    await sql`
      CREATE TRIGGER job_common_turns BEFORE INSERT ON ${jobs} FOR EACH ROW
      WHEN (NEW.group_id IS NOT NULL AND NEW.state < 'active') EXECUTE FUNCTION ${setPriority}()`.execute(trx)
  })
}

/** The jobs of a group, and the new length of their shares. */
export interface NewShare {
  readonly task: AnyTask
  readonly group: string
  readonly shareSeconds: number
  /** Only shares shorter than this change. */
  readonly below: number
}

/** The maximum number of jobs that one call changes. A later call can change more. */
const REPRIORITIZED_MAX = 1_000

/**
 * Changes the length of the shares of a group's next jobs. The first share begins when its job may begin, and the jobs keep their
 * order. A running job gets the new length at its next attempt. There is no lock order, because the statement skips locked jobs.
 */
export async function reprioritize(boss: PgBoss, schema: string, { task, group, ...share }: NewShare): Promise<void> {
  const ofGroup = (condition: string) => `
    SELECT id, state, retry_count, start_after, priority FROM "${schema}".job
    WHERE name = $1 AND group_id = $2 AND ${condition}
      AND coalesce(group_tier::int, ${DEFAULT_SHARE_SECONDS}) <> $3::int AND coalesce(group_tier::int, ${DEFAULT_SHARE_SECONDS}) < $4
    ORDER BY priority DESC LIMIT ${REPRIORITIZED_MAX} FOR UPDATE SKIP LOCKED`
  await boss.getDb().executeSql(
    `WITH waiting AS (${ofGroup("state < 'active'")}), running AS (${ofGroup("state = 'active'")}), placed AS (
       SELECT id, start_after, row_number() OVER (PARTITION BY state, retry_count ORDER BY priority DESC, id) AS place
       FROM (SELECT * FROM waiting UNION ALL SELECT * FROM running) jobs
     )
     UPDATE "${schema}".job j
     SET group_tier = $3, priority = -least(${INT_MAX}, ${begin('placed.start_after')} + $3::int * placed.place)
     FROM placed WHERE j.name = $1 AND j.id = placed.id`,
    [task.name, group, String(share.shareSeconds), share.below],
  )
}
