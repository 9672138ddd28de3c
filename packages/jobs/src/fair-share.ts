import { type Kysely, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { AnyTask } from './task.ts'

/** The share of a job without `shareSeconds`. */
const DEFAULT_SHARE_SECONDS = 60
/** 2026-01-01, from which priorities count seconds: an integer has them for 68 years. */
const EPOCH = 1_767_225_600
const INT_MAX = 2_147_483_647
/** The second at which a job may begin, as SQL. */
const begin = (startAfter: string) => `floor(extract(epoch FROM greatest(now(), ${startAfter})))::bigint - ${EPOCH}`

/**
 * Installs the fair-share priority of groups. Workers take the job with the highest priority first, so the priority of a job
 * with a group is the second, negated, at which its share ends. A share begins when the job may begin, or when the share of
 * the last waiting job of its group ends. Its length is the tier of the job: the longer the job keeps a worker, the longer.
 * So a quick job goes before slow ones, and a job of a group without a backlog before the backlogs of all others.
 * Each job of a backlog goes before jobs that are sent after the end of its share. While a worker is free, no job waits. Jobs
 * of a group that are stored at the same time may get the same share.
 *
 * The queue inserts a job again after each failure. Jobs with the same number of failures form a backlog of their own, and so
 * do jobs whose shares have the same length.
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
    // Another CREATE would wait for the writers of jobs.
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

/** The jobs of a group, and the length of their shares from now on. */
export interface NewShare {
  readonly task: AnyTask
  readonly group: string
  readonly shareSeconds: number
  /** Only shorter shares get another length. */
  readonly below: number
}

/** The most jobs that one call changes. A later call may change further ones. */
const REPRIORITIZED_MAX = 1_000

/**
 * Gives the next jobs of a group shares of another length. The first share begins when its job may begin, and the jobs keep
 * their order. A job that runs has this length at its next attempt. Lock order: none is needed, because the statement skips jobs
 * that another one has locked.
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
