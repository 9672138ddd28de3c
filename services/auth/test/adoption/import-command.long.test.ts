import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { Command } from 'commander'
import { describe, expect, it, onTestFinished } from 'vitest'
import { importCommand } from '../../src/adoption/commands/import-database.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { type ImportingApp, openImporting } from './imported-app.ts'
import { runSql } from './restored-database.ts'

/** Runs `auth import …`. @returns its output with questions, and the error */
const runCommand = (app: ImportingApp, ...flags: readonly string[]) => runAnswered(app, undefined, ...flags)

/** Runs the command with an operator who gives the same answer to each question. */
async function runAnswered({ deps }: ImportingApp, answer: string | undefined, ...flags: readonly string[]) {
  const lines: string[] = []
  const ask = async (question: string) => {
    lines.push(question)
    return answer
  }
  const command = importCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask,
  }).configureOutput({
    writeErr: () => {},
  })
  const program = new Command().exitOverride().addCommand(command)
  const failure = await program.parseAsync(['import', ...flags], { from: 'user' }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { lines, failure }
}

/** A PostgreSQL message that requests authentication. */
function authentication(kind: number, text: string): Buffer {
  const head = Buffer.alloc(9)
  head.write('R')
  head.writeInt32BE(8 + Buffer.byteLength(text), 1)
  head.writeInt32BE(kind, 5)
  return Buffer.concat([head, Buffer.from(text)])
}

const TABLES = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'webauthn_credentials'],
  ...['one_time_tokens', 'flow_state', 'custom_oauth_providers', 'audit_log_entries'],
]
const row = (table: string) => expect.stringMatching(new RegExp(`^rows {7}${table}: \\d+ added, 0 changed, 0 deleted$`))
const SURROUNDINGS = [
  'not served sso_providers: 1 rows are not copied',
  'not served oauth_clients: 1 rows are not copied',
  'not served oauth_consents: 1 rows are not copied',
  'not copied the table of the foreign key notes_owner_fkey of public.notes',
  'not copied the table of the foreign key profiles_id_fkey of public.profiles',
  'lost       2 users who sign in only by sso, which this service does not serve',
  'lost       1 sessions of OAuth clients, which this service does not serve: they are not copied',
]

/** Code that the owner of tables can make their readers run: a cast to `json`, and the predicate of an index. */
const CODE_OF_THE_SOURCE = `
  CREATE SEQUENCE public.runs;
  GRANT ALL ON public.runs TO PUBLIC;
  SET ROLE supabase_auth_admin;
  CREATE FUNCTION auth.run() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('public.runs'); RETURN true; END $$;
  CREATE TYPE auth.planted AS ENUM ('a');
  CREATE FUNCTION auth.to_json(auth.planted) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM auth.run(); RETURN 'null'; END $$;
  ALTER TABLE auth.users ADD COLUMN extra auth.planted DEFAULT 'a';
  CREATE FUNCTION auth.is_kept(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN auth.run(); END $$;
  RESET ROLE;
  CREATE CAST (auth.planted AS json) WITH FUNCTION auth.to_json(auth.planted);
  CREATE INDEX planted ON auth.sessions (id) WHERE auth.is_kept(1);
  SELECT setval('public.runs', 1, false)`

describe('auth import', () => {
  it('says what became of each table, what is not copied and how long it took, and fails when somebody was held back', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    const took = expect.stringMatching(/^took {7}\d+\.\d s$/)
    expect(await runCommand(app, '--from-database', url)).toEqual({
      lines: ['migration  20260625000000', ...TABLES.map(row), ...SURROUNDINGS, took],
      failure: undefined,
    })
    const id = app.user('plain')?.id
    await runSql(app.database.directUrl, `UPDATE auth.users SET updated_at = now() WHERE id = '${id}'`)
    await runSql(superuserUrl, `UPDATE auth.users SET updated_at = now(), role = 'service_role' WHERE id = '${id}'`)
    const failure =
      '1 of the users, flows and providers that have changed at the source were not taken: they stay as they are here'
    expect(await runCommand(app, '--from-database', url)).toEqual({
      lines: [
        'migration  20260625000000',
        ...TABLES.map((table) => `rows       ${table}: 0 added, 0 changed, 0 deleted`),
        ...SURROUNDINGS,
        `admin      1 users have the role service_role, which makes them admins: ${id}`,
        `not taken  user ${id} has changed here since its import`,
        took,
      ],
      failure,
    })
    const { lines, failure: again } = await runCommand(app, '--from-database', url, '--json')
    expect(again).toBe(failure)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        migration: '20260625000000',
        tables: TABLES.map((table) => ({ table, added: 0, changed: 0, deleted: 0 })),
        held_back: [{ kind: 'user', id, reason: 'has changed here since its import' }],
        left_providers: [],
        shared_emails: [],
        admins: [{ role: 'service_role', count: 1, ids: [id] }],
        other_instances: { count: 0, ids: [] },
        losses: [
          { what: 'users who sign in only by sso, which this service does not serve', count: 2 },
          { what: 'sessions of OAuth clients, which this service does not serve: they are not copied', count: 1 },
        ],
        not_served: [
          { table: 'sso_providers', rows: 1 },
          { table: 'oauth_clients', rows: 1 },
          { table: 'oauth_consents', rows: 1 },
        ],
        foreign_keys: ['notes_owner_fkey of public.notes', 'profiles_id_fkey of public.profiles'],
        other_columns: [],
        seconds: expect.any(Number),
      },
    ])
  })

  it('--forget lists what it drops, and asks as adopt --forget does', async () => {
    const app = await openImporting('v2.196.0')
    const found = { failure: 'nothing was imported from another database, or its record was dropped before', lines: [] }
    expect(await runCommand(app, '--forget')).toEqual(found)
    await app.run()
    const forgotten = [
      expect.stringMatching(
        /^the users came from the database [\d ]+\w+ auth; no run of auth import continues afterwards$/,
      ),
      'drops      auth_imported.source: 1 rows',
      expect.stringMatching(/^drops {6}auth_imported\.taken: [1-9]\d* rows$/),
      expect.stringMatching(/^drops {6}auth_imported\.taken_days: [1-9]\d* rows$/),
    ]
    const asked = [...forgotten, 'Drop this, without a way back? [y/N] ']
    const unanswered = 'nothing changed: nobody has answered. --yes answers the question'
    expect(await runCommand(app, '--forget')).toEqual({ lines: asked, failure: unanswered })
    expect(await runCommand(app, '--forget', '--json')).toEqual({ lines: [], failure: unanswered })
    expect(await runAnswered(app, 'n', '--forget')).toEqual({
      lines: [...asked, 'nothing changed'],
      failure: undefined,
    })
    expect(await runAnswered(app, 'y', '--forget')).toEqual({
      lines: [...asked, 'dropped what a further import needs'],
      failure: undefined,
    })
    expect(await runCommand(app, '--forget')).toEqual(found)
    // The users are already here, so a new import takes none.
    await app.run()
    const [source, sources, , days] = forgotten
    expect(await runCommand(app, '--forget', '--yes')).toEqual({
      lines: [source, sources, 'drops      auth_imported.taken: 0 rows', days, 'dropped what a further import needs'],
      failure: undefined,
    })
    await app.run()
    expect(await runCommand(app, '--forget', '--yes', '--json')).toEqual({
      lines: ['{"forgotten":true}'],
      failure: undefined,
    })
  })

  it('refuses what it cannot read or write in one line, which does not show the password', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    const failureOf = async (...flags: readonly string[]) => {
      const { lines, failure } = await runCommand(app, ...flags)
      expect(lines).toEqual([])
      return failure
    }
    const from = (address: string) => failureOf('--from-database', address)
    expect(await failureOf()).toBe("error: required option '--from-database <url>' not specified")
    expect(await from('a secret')).toBe(
      'the address of the source is not a URL such as postgres://user:password@host:5432/database, with %20 for a blank and %25 for a %',
    )
    expect(await from(new URL('/nowhere', url).href)).toBe(
      'cannot connect to the source: database "nowhere" does not exist',
    )
    const { host, pathname } = new URL(url)
    expect(await from(`postgres://nobody:a-secret@${host}${pathname}`)).toBe(
      'cannot connect to the source: role "nobody" does not exist',
    )
    const asking = createServer((socket) =>
      socket.once('data', () => {
        socket.write(authentication(10, 'SCRAM-SHA-256\0\0'))
        socket.once('data', () => socket.write(authentication(11, 'r=x,s=eA==,i=1')))
      }),
    ).listen(0, '127.0.0.1')
    await once(asking, 'listening')
    expect(await from(`postgres://root@127.0.0.1:${portOf(asking)}/auth`)).toBe(
      'cannot connect to the source: it asks for a password: write it into PGPASSWORD',
    )
    asking.close()
    expect(await from('postgres://root:a-secret@127.0.0.1:1/auth')).toBe(
      'cannot connect to the source: connect ECONNREFUSED 127.0.0.1:1',
    )
    const { directUrl } = app.database
    await runSql(directUrl, 'GRANT USAGE ON SCHEMA auth TO supabase_auth_admin')
    const own = Object.assign(new URL(directUrl), { username: 'supabase_auth_admin', password: 'root' }).href
    expect(await from(own)).toBe(
      'the schema auth of the source has the tables of this service, not those of supabase/auth',
    )
    expect(await failureOf('--from-database', url, '--source-schema', 'public')).toBe(
      'the schema public of the source has no tables of supabase/auth',
    )
    await runSql(superuserUrl, `INSERT INTO auth.schema_migrations VALUES ('20990101000000')`)
    expect(await from(url)).toBe(
      'migration 20990101000000 is newer than supabase/auth 2.196, which this release knows: --force takes it all the same',
    )
    expect(await failureOf('--from-database', url, '--forget')).toMatch(/cannot be used with option/)
    const { failure } = await runCommand(app, '--from-database', url, '--force')
    expect(failure).toBeUndefined()
    await runSql(
      app.database.directUrl,
      `UPDATE auth_imported.source SET source = 'another'; DELETE FROM auth.trestle_migrations WHERE name LIKE '0022%'`,
    )
    expect(await from(url)).toMatch(/is newer than/)
    expect(await failureOf('--from-database', url, '--force')).toBe(
      'the schema auth of this service is not up to date: run auth migrate',
    )
  })

  it.each([
    ['SUPERUSER', 'has the rights of a superuser of the source'],
    ['IN ROLE supabase_superuser', 'has the rights of a superuser of the source'],
    ['IN ROLE pg_execute_server_program', 'is a member of pg_execute_server_program at the source'],
    ['IN ROLE pg_write_server_files', 'is a member of pg_write_server_files at the source'],
    ['IN ROLE pg_read_server_files', 'is a member of pg_read_server_files at the source'],
  ])('refuses a reader with %s before the source can run anything by these rights', async (rights, reason) => {
    const app = await openImporting('v2.196.0')
    const { superuserUrl } = app.restored.database
    const role = `reader_${randomUUID().slice(0, 8)}`
    const above = `super_${randomUUID().slice(0, 8)}`
    await runSql(
      superuserUrl,
      `CREATE ROLE ${above} SUPERUSER;
       CREATE ROLE ${role} LOGIN BYPASSRLS PASSWORD 'root' ${rights.replace('supabase_superuser', above)};
       GRANT USAGE ON SCHEMA auth TO ${role};
       GRANT SELECT ON ALL TABLES IN SCHEMA auth TO ${role};
       ${CODE_OF_THE_SOURCE}`,
    )
    onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}, ${above}`).then(() => {}))
    const url = Object.assign(new URL(superuserUrl), { username: role, password: 'root' }).href
    expect(await runCommand(app, '--from-database', url)).toEqual({
      lines: [],
      failure: `${role} ${reason}, and what the source runs when its tables are read could use them: connect as a user who can only read, which docs/runbooks/moving-in.md says how to make`,
    })
    // The code of the owner did not run. A sequence would show a run even after a rollback.
    expect(await runSql(superuserUrl, 'SELECT is_called FROM public.runs')).toEqual([{ is_called: false }])
  })

  it('imports everything as the reader whom the runbook makes', async () => {
    const app = await openImporting('v2.196.0')
    const { superuserUrl, manifest } = app.restored.database
    const role = `reader_${randomUUID().slice(0, 8)}`
    const runbook = await readFile(new URL('../../../../docs/runbooks/moving-in.md', import.meta.url), 'utf8')
    const [statements = ''] = /^ *CREATE ROLE auth_reader[\s\S]*?(?=^ *END$)/m.exec(runbook) ?? []
    await runSql(superuserUrl, statements.replaceAll('auth_reader', role))
    onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`).then(() => {}))
    const url = Object.assign(new URL(superuserUrl), { username: role, password: '<password of the reader>' }).href
    const { lines, failure } = await runCommand(app, '--from-database', url)
    expect([failure, lines.find((line) => line.includes(' users: '))]).toEqual([
      undefined,
      `rows       users: ${manifest.rows.users} added, 0 changed, 0 deleted`,
    ])
  })

  it('refuses another source than that of the run before, and a user from whom the rows are hidden', async () => {
    const app = await openImporting('v2.196.0')
    const { url, superuserUrl } = app.restored.database
    expect((await runCommand(app, '--from-database', url)).failure).toBeUndefined()
    await runSql(app.database.directUrl, `UPDATE auth_imported.source SET source = 'another'`)
    expect((await runCommand(app, '--from-database', url)).failure).toMatch(
      /^the users here came from another database \(another\), not from this one \(\d+ \d+ \w+ auth\): auth import --forget ends that import$/,
    )
    await runSql(superuserUrl, 'ALTER TABLE auth.users OWNER TO postgres')
    expect((await runCommand(app, '--from-database', url)).failure).toBe(
      'the source hides its rows from supabase_auth_admin: connect as postgres',
    )
  })
})
