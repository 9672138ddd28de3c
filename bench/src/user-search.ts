import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { makeBenchFolder } from './bench-folder.ts'
import { execute, openDatabaseServer } from './database.ts'
import { deploy } from './deployment.ts'
import { signAdminToken } from './services/admin-token.ts'
import { request } from './services/http-client.ts'
import { distributionOf } from './statistics.ts'

// Measures how long an admin waits for a list of users: `node bench/src/user-search.ts [number of users]`, a million by
// default.

const GOAL_MS = 100
const ROUNDS = 11
const DEPTH = 50

/** The measured requests, and why. All but the first two would read every user without an index. */
const searches: readonly (readonly [filter: string, what: string])[] = [
  ['', 'no filter, newest first'],
  ['example', 'a part of a third of all emails'],
  ['oldcompany', 'a part of emails of the oldest 6 % alone'],
  ['zoe.smith12', 'the beginning of a few emails'],
  ['smith77777@', 'a part of one email'],
  ['77777', 'digits of emails and phones'],
  ['1415', 'the beginning of some phones'],
  ['james smith', 'a full name'],
  ['rt wri', 'a part of a full name'],
  ['иван', 'nobody, in another script'],
  ['...', 'nobody, without letters'],
  ['qqqq', 'nobody'],
  ['jo', 'two characters: a beginning'],
  ['1', 'one character: a beginning'],
  ['~', 'one character that nobody begins with'],
]

const users = Number(process.argv[2] ?? 1_000_000)
if (!Number.isInteger(users) || users < 1) throw new Error('the number of users is a whole number above 0')
const folder = makeBenchFolder()
try {
  await using started = new AsyncDisposableStack()
  const database = await openDatabaseServer({ url: process.env.BENCH_DATABASE_URL, folder: join(folder, 'postgres') })
  started.defer(database.close)
  const databaseUrl = await database.create('trestle_bench_user_search')
  const env = { AUTH_MAILER_AUTOCONFIRM: 'true' }
  const deployment = await deploy('auth', { checkout: join(import.meta.dirname, '..', '..'), folder, databaseUrl, env })
  const startedMs = performance.now()
  await execute(databaseUrl, seed(users))
  await execute(databaseUrl, 'VACUUM ANALYZE')
  say(`${users} users made in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`)
  const server = await deployment.start({ cores: undefined, coreCount: availableParallelism() })
  started.defer(server.stop)
  const headers = { authorization: `Bearer ${signAdminToken(deployment.secrets.AUTH_JWT_SECRET)}` }
  say(`first page of 50 by cursor, over HTTP: median and slowest of ${ROUNDS}`)
  for (const [filter, what] of searches) {
    const path = `/admin/users?cursor=&filter=${encodeURIComponent(filter)}`
    await report(JSON.stringify(filter), what, () => request(server.url + path, { headers }))
  }
  let next = '/admin/users?cursor=&per_page=1000&filter=example'
  await report('"example"', `each of ${DEPTH} pages of 1000`, async () => {
    const answer = await request(server.url + next, { headers })
    next = /<([^>]*)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? next
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function report(filter: string, what: string, ask: () => Promise<unknown>): Promise<void> {
  const times: number[] = []
  for (let round = 0; round < (what.startsWith('each') ? DEPTH : ROUNDS); round += 1) {
    const startMs = performance.now()
    await ask()
    times.push(performance.now() - startMs)
  }
  const { median, largest } = distributionOf(times)
  const verdict = median <= GOAL_MS ? 'ok' : `above ${GOAL_MS} ms`
  say(
    `${filter.padEnd(15)} ${median.toFixed(1).padStart(7)} ms ${largest.toFixed(1).padStart(7)} ms  ${verdict}  ${what}`,
  )
}

/** Hashes mix names, mail hosts and phones. The oldest 6 % share a host that no later user has. */
function seed(count: number): string {
  const pick = (list: string, salt: number) =>
    `(ARRAY[${list}])[1 + abs(hashint4(n * 31 + ${salt}) % ${list.split(',').length})]`
  const first = pick(
    "'James','Mary','Robert','John','Jennifer','Linda','David','Susan','Karen','Zoe','Søren','Иван'",
    1,
  )
  const last = pick("'Smith','Johnson','Brown','Garcia','Miller','Wright','Lee','Nguyen','Hill','O''Neil'", 2)
  const host = pick("'gmail.com','outlook.com','icloud.com','proton.me','mail.example.org','corp.example.net'", 3)
  // The index of the search is made afterwards, which is many times faster than adding entry by entry.
  return `DO $seed$
    DECLARE definition text := pg_get_indexdef('auth.user_directory_grams_idx'::regclass);
    BEGIN
    DROP INDEX auth.user_directory_grams_idx;
    INSERT INTO auth.users (id, aud, role, email, phone, encrypted_password, email_confirmed_at, raw_app_meta_data,
        raw_user_meta_data, created_at, updated_at)
      SELECT gen_random_uuid(), 'authenticated', 'authenticated', lower(f || '.' || l) || n || '@' || h,
        CASE WHEN n % 2 = 0 THEN '1' || lpad((n::bigint * 7919 % 10000000000)::text, 10, '0') END,
        '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
        now(), '{"provider":"email","providers":["email"]}', jsonb_build_object('full_name', f || ' ' || l),
        now() - (${count} - n) * interval '90 seconds', now()
      FROM (SELECT n, ${first} AS f, ${last} AS l,
        CASE WHEN n < ${count} * 0.06 THEN 'oldcompany.example' ELSE ${host} END AS h
        FROM generate_series(1, ${count}) AS n) AS people;
    EXECUTE definition;
    END $seed$`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
