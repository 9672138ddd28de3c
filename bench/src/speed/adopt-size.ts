import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { z } from 'zod'
import { openBench } from '../bench.ts'
import { SECRET } from '../compare-servers/tokens.ts'
import { positiveInteger, ROOT, runCommand, say, secondsSince, time } from '../program.ts'
import { execute } from '../servers/database.ts'
import { runProgram } from '../servers/run-program.ts'

// Measures `auth adopt` on a large database of supabase/auth 2.196: `node bench/src/speed/adopt-size.ts`, with a million users,
// who have one identity and three sessions each. Prints the time of `--prepare`, the time of `auth adopt` after it, during which
// neither service works, the time that requests of an old service would wait, and the total time. Use an idle machine.

const GOAL_LOCKED_SECONDS = 5
const GOAL_SECONDS = 600
const SESSIONS_OF_USER = 3
const BATCH_USERS = 50_000
/** The owner of the tables, as in a Supabase installation. */
const OWNER = 'supabase_auth_admin'
const ROLES = [OWNER, 'supabase_admin', 'postgres', 'anon', 'authenticated', 'service_role'] as const
const Indexes = z.array(z.object({ name: z.string(), definition: z.string() }))
const DUMP = join(ROOT, 'services', 'auth', 'test', 'adoption', 'databases', 'v2.196.0.sql')

interface Options {
  readonly users: number
  readonly form: '1' | '2'
}

const command = new Command('adopt-size')
  .description('measure how long a large database of supabase/auth is adopted')
  .option('--users <count>', 'users of the database', positiveInteger, 1_000_000)
  .addOption(new Option('--form <number>', 'the form of the refresh tokens').choices(['1', '2']).default('1'))
  .action(run)

async function run({ users, form }: Options): Promise<void> {
  await using bench = await openBench({ isOwn: true })
  const url = await bench.database.create('trestle_bench_adopt_size')
  const made = `made ${users} users with ${users * SESSIONS_OF_USER} sessions of form ${form}`
  await time(made, () => fill(url, { users, form }))
  await measure(Object.assign(new URL(url), { username: OWNER }).href, bench.folder)
}

/** Adopts the database and prints the times. @throws Error if the command does not report how long requests waited */
async function measure(databaseUrl: string, folder: string): Promise<void> {
  const adopt = (...options: readonly string[]) => runAdopt(databaseUrl, folder, options)
  say(/^time .*$/m.exec(await adopt('--check'))?.[0] ?? '')
  const fromMs = performance.now()
  say(await adopt('--prepare'))
  const prepared = secondsSince(fromMs)
  const downFromMs = performance.now()
  const printed = await adopt()
  say(printed)
  const lockedSeconds = Number(/requests waited for (\d+\.\d) s/.exec(printed)?.[1])
  if (Number.isNaN(lockedSeconds)) throw new Error('auth adopt has not said how long requests waited')
  say(`adopt --prepare: ${prepared}; adopt after it: ${secondsSince(downFromMs)}`)
  const wholeSeconds = (performance.now() - fromMs) / 1_000
  say(
    `requests waited: ${lockedSeconds.toFixed(1)} s (goal ${GOAL_LOCKED_SECONDS} s: ${verdict(lockedSeconds, GOAL_LOCKED_SECONDS)})`,
  )
  say(`the whole: ${wholeSeconds.toFixed(1)} s (goal ${GOAL_SECONDS} s: ${verdict(wholeSeconds, GOAL_SECONDS)})`)
}

function runAdopt(databaseUrl: string, folder: string, options: readonly string[]): Promise<string> {
  return runProgram({
    program: process.execPath,
    args: [join(ROOT, 'services', 'auth', 'src', 'main.ts'), 'adopt', ...options],
    env: {
      PATH: process.env.PATH ?? '',
      AUTH_PROFILE: 'supabase',
      AUTH_DB_DRIVER: 'postgres',
      AUTH_JWT_SECRET: SECRET,
      AUTH_SITE_URL: 'http://localhost',
      AUTH_API_EXTERNAL_URL: 'http://localhost',
      DATABASE_URL: databaseUrl,
    },
    cwd: folder,
  })
}

function verdict(seconds: number, goal: number): string {
  return seconds < goal ? 'met' : 'NOT MET'
}

/** Creates the tables from a dump, and fills them without the checks and indexes of a running server. */
async function fill(url: string, { users, form }: Options): Promise<void> {
  for (const role of ROLES) {
    await execute(
      url,
      `DO $$ BEGIN CREATE ROLE ${role} LOGIN PASSWORD 'bench'; EXCEPTION WHEN duplicate_object THEN END $$`,
    )
  }
  await execute(url, readFileSync(DUMP, 'utf8'))
  await execute(url, `GRANT CREATE ON DATABASE trestle_bench_adopt_size TO ${OWNER}`)
  await execute(url, `ALTER ROLE ${OWNER} SET search_path = auth`)
  // Remove the rows of the dump, which would count too.
  await execute(url, 'TRUNCATE auth.users, auth.audit_log_entries, auth.refresh_tokens, auth.flow_state CASCADE')
  const indexes = Indexes.parse(await execute(url, PLAIN_INDEXES))
  await execute(url, indexes.map(({ name }) => `DROP INDEX auth.${name}`).join(';'))
  for (let made = 0; made < users; made += BATCH_USERS) {
    await execute(url, insertUsers(made + 1, Math.min(made + BATCH_USERS, users), form))
  }
  for (const { definition } of indexes) await execute(url, `SET maintenance_work_mem = '256MB'; ${definition}`)
  await execute(url, 'VACUUM ANALYZE')
  await execute(url, 'CHECKPOINT')
}

/** The indexes that no constraint needs. */
const PLAIN_INDEXES = `
  SELECT i.relname AS name, pg_get_indexdef(i.oid) AS definition FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
  WHERE t.relnamespace = 'auth'::regnamespace
    AND t.relname IN ('users', 'identities', 'sessions', 'refresh_tokens', 'mfa_amr_claims')
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid)`

/** Inserts users with an identity and sessions, like a server. Triggers of foreign keys and applications are off. */
function insertUsers(from: number, to: number, form: Options['form']): string {
  return `
    SET session_replication_role = replica;
    SET synchronous_commit = off;
    CREATE TEMPORARY TABLE made_users AS
      SELECT n, gen_random_uuid() AS id, 'user-' || n || '@example.com' AS email,
        now() - make_interval(secs => 3600 + n * 7 % 31536000) AS moment FROM generate_series(${from}, ${to}) n;
    INSERT INTO auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, confirmation_token,
        recovery_token, email_change_token_new, email_change, last_sign_in_at, raw_app_meta_data, raw_user_meta_data, created_at,
        updated_at)
      SELECT '00000000-0000-0000-0000-000000000000', id, 'authenticated', 'authenticated', email,
        '$2a$10$' || substr(translate(encode(sha256(id::text::bytea), 'base64') || md5(email), '+=', './'), 1, 53), moment, '', '', '', '',
        moment, '{"provider": "email", "providers": ["email"]}',
        jsonb_build_object('sub', id, 'email', email, 'email_verified', true, 'phone_verified', false), moment, moment
      FROM made_users;
    INSERT INTO auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
      SELECT id, id, jsonb_build_object('sub', id, 'email', email, 'email_verified', false, 'phone_verified', false), 'email',
        moment, moment, moment FROM made_users;
    CREATE TEMPORARY TABLE made_sessions AS
      SELECT gen_random_uuid() AS id, id AS user_id, moment + make_interval(secs => s) AS moment
      FROM made_users, generate_series(1, ${SESSIONS_OF_USER}) s;
    INSERT INTO auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, ip, refresh_token_hmac_key, refresh_token_counter)
      SELECT id, user_id, moment, moment, 'aal1', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', '192.0.2.1',
        ${form === '2' ? `translate(rtrim(encode(sha256(id::text::bytea), 'base64'), '='), '+/', '-_'), 0` : 'NULL, NULL'}
      FROM made_sessions;
    INSERT INTO auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
      SELECT gen_random_uuid(), id, moment, moment, 'password' FROM made_sessions;
    ${form === '2' ? '' : INSERT_TOKENS}
    DROP TABLE made_users, made_sessions`
}

const INSERT_TOKENS = `
    INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
      SELECT '00000000-0000-0000-0000-000000000000', substr(translate(encode(sha256(id::text::bytea), 'base64'), '+/', '-_'), 1, 12), user_id, false, moment, moment, id
      FROM made_sessions;`

await runCommand(command)
