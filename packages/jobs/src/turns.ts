import { type Kysely, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { AnyTask } from './task.ts'

/** The length of the turn of a job that says nothing of it. */
const TURN_SECONDS = 60
/** From when turns count seconds, 2026-01-01: an integer has them for 68 years. */
const TURNS_BEGIN = 1_767_225_600
const INT_MAX = 2_147_483_647
/** The second of the turns at which a job may begin, as SQL. */
const begin = (startAfter: string) =>
  `floor(extract(epoch FROM greatest(now(), ${startAfter})))::bigint - ${TURNS_BEGIN}`

/**
 * Lets groups take turns. Workers take the job with the highest priority first, so the priority of a job with a group is the
 * second, negated, at which its turn ends. A turn begins when the job may begin, or when that of the last waiting job
 * of its group ends, and is as long as the tier of the job says: the longer the job keeps a worker from others, the
 * longer. So a quick job goes before slow ones, and a job of a group without a backlog before the backlogs of all others.
 * Each job of a backlog goes before what is sent after its turn. Nothing waits for a turn while a worker is free. Jobs of
 * a group that are stored at the same time may get the same turn.
 *
 * The queue inserts a job again after each failure. Jobs with the same number of failures form a backlog of their own, and so
 * do jobs whose turns have the same length.
 */
export async function createTurns(db: Kysely<unknown>, schema: string): Promise<void> {
  const [jobs, setTurn] = [sql.id(schema, 'job_common'), sql.id(schema, 'set_turn')]
  await db.transaction().execute(async (trx) => {
    await sql`
      CREATE OR REPLACE FUNCTION ${setTurn}() RETURNS trigger LANGUAGE plpgsql
      SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        NEW.priority := -least(${sql.lit(INT_MAX)}, coalesce(NEW.group_tier::int, ${sql.lit(TURN_SECONDS)}) + greatest(
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
      WHEN (NEW.group_id IS NOT NULL AND NEW.state < 'active') EXECUTE FUNCTION ${setTurn}()`.execute(trx)
  })
}

/** The jobs of a group, and how long the turn of each is from now on. */
export interface NewTurns {
  readonly task: AnyTask
  readonly group: string
  readonly turnSeconds: number
  /** Only turns that are shorter than this get another length. */
  readonly below: number
}

/** The most jobs that get new turns at once. Later ones may get theirs by a later call. */
const RENEWED_MAX = 1_000

/**
 * Gives the next jobs of a group turns of another length. The first begins when its job may begin, and they keep their
 * order. A job that runs has this length at its next attempt. Lock order: none is needed, because the statement skips jobs
 * that another one has locked.
 */
export async function renewTurns(boss: PgBoss, schema: string, { task, group, ...turns }: NewTurns): Promise<void> {
  const ofGroup = (condition: string) => `
    SELECT id, state, retry_count, start_after, priority FROM "${schema}".job
    WHERE name = $1 AND group_id = $2 AND ${condition}
      AND coalesce(group_tier::int, ${TURN_SECONDS}) <> $3::int AND coalesce(group_tier::int, ${TURN_SECONDS}) < $4
    ORDER BY priority DESC LIMIT ${RENEWED_MAX} FOR UPDATE SKIP LOCKED`
  await boss.getDb().executeSql(
    `WITH waiting AS (${ofGroup("state < 'active'")}), running AS (${ofGroup("state = 'active'")}), placed AS (
       SELECT id, start_after, row_number() OVER (PARTITION BY state, retry_count ORDER BY priority DESC, id) AS place
       FROM (SELECT * FROM waiting UNION ALL SELECT * FROM running) jobs
     )
     UPDATE "${schema}".job j
     SET group_tier = $3, priority = -least(${INT_MAX}, ${begin('placed.start_after')} + $3::int * placed.place)
     FROM placed WHERE j.name = $1 AND j.id = placed.id`,
    [task.name, group, String(turns.turnSeconds), turns.below],
  )
}
