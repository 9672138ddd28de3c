import { randomUUID } from 'node:crypto'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findObstacles } from '../../src/adoption/check/find-obstacles.ts'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { doctor } from '../../src/commands/doctor.ts'
import { createQuietDeps, openOperatorDeps } from '../../src/commands/operator-deps.ts'
import { adoptOptions, migrateOptions } from '../../src/migrations.ts'
import { expectOwnSchema } from '../../src/open-database.ts'
import { outcomeOf } from '../bodies.ts'
import { openMailApp } from '../mail-app.ts'
import { adopt, prepare, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { openImporting } from './imported-app.ts'
import { runSql, settingsFor } from './restored-database.ts'

const OWNER = 'supabase_auth_admin'

/** Creates a role without rights. The end of the test drops it with its objects. */
async function addStranger(superuserUrl: string): Promise<string> {
  const role = `stranger_${randomUUID().slice(0, 8)}`
  await runSql(superuserUrl, `CREATE ROLE ${role}`)
  onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`).then(() => {}))
  return role
}

/**
 * Lets a stranger create functions and operators in `public` that match our statements better than those of PostgreSQL. They
 * record who ran them, and affect every connection with `public` in its search path.
 * @returns reads which programs ran them, each with its role
 */
async function plant(superuserUrl: string, victimUrl: string) {
  const role = await addStranger(superuserUrl)
  const run = (head: string, value: string) =>
    `CREATE FUNCTION public.${head} IMMUTABLE LANGUAGE plpgsql AS $$
       BEGIN PERFORM public.note_reader(); RETURN ${value}; END $$;`
  await runSql(
    superuserUrl,
    `GRANT USAGE, CREATE ON SCHEMA public TO ${role}; SET ROLE ${role};
     CREATE TABLE public.readers (name text, program text);
     GRANT ALL ON public.readers TO PUBLIC;
     CREATE FUNCTION public.note_reader() RETURNS void LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO public.readers VALUES (current_user, pg_catalog.current_setting('application_name')); END $$;
     ${run('lower(text_of varchar) RETURNS text', 'pg_catalog.lower(text_of::text)')}
     ${run('format(form text, one text, other text) RETURNS text', 'pg_catalog.format(form, VARIADIC ARRAY[one, other])')}
     ${run('format(form text, one text) RETURNS text', 'pg_catalog.format(form, VARIADIC ARRAY[one])')}
     ${run('pg_advisory_xact_lock(key text) RETURNS text', 'key')}
     ${run('same(one varchar, other varchar) RETURNS boolean', 'one::text OPERATOR(pg_catalog.=) other::text')}
     ${run('times(one integer, other interval) RETURNS interval', 'one::float8 OPERATOR(pg_catalog.*) other')}
     CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.same);
     CREATE OPERATOR public.* (LEFTARG = integer, RIGHTARG = interval, FUNCTION = public.times)`,
  )
  const listReaders = () =>
    runSql<{ name: string; program: string }>(superuserUrl, 'SELECT DISTINCT name, program FROM public.readers')
  await runSql(victimUrl, `SELECT lower('A'::varchar), 'a'::varchar = 'b'::varchar`)
  expect(await listReaders()).toHaveLength(1)
  await runSql(superuserUrl, 'TRUNCATE public.readers')
  return { listReaders }
}

/** Sets the search path of the owner of the tables in a database. */
async function setPath({ database: { superuserUrl } }: Restored, path: string): Promise<void> {
  const name = new URL(superuserUrl).pathname.slice(1)
  await runSql(superuserUrl, `ALTER ROLE ${OWNER} IN DATABASE ${name} SET search_path = ${path}`)
}

/** Opens the service with its job worker on an adopted database. */
async function openWorking({ database, deps }: Restored, settings: Readonly<Record<string, string>> = {}) {
  const test = await openMailApp(
    { ...settingsFor(database), AUTH_DB_ROLE: '', ...settings },
    {
      database: { ...database, entryUrl: database.url, directUrl: database.url },
      replace: () => ({ now: deps.now }),
    },
  )
  onTestFinished(() => test.close())
  return test
}

describe('functions and operators of strangers in a schema of the search path of the owner', () => {
  it('are not run by the service, its jobs or its commands', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl, url, manifest } = restored.database
    await setPath(restored, '"$user", public, auth')
    const { listReaders } = await plant(superuserUrl, url)
    const test = await openWorking(restored, { AUTH_MAILER_AUTOCONFIRM: 'false' })
    const plain = manifest.users.find(({ name }) => name === 'plain')
    const email = 'new@example.com'
    const login = { email: plain?.email, password: plain?.password }
    expect(outcomeOf(await test.post('/token?grant_type=password', login))).toBe(200)
    expect(outcomeOf(await test.post('/signup', { email, password: 'correct horse battery' }))).toBe(200)
    await test.readMail(email)
    await test.idle()
    const operator = await openOperatorDeps(restored.deps.config)
    await operator.close()
    expect(await listReaders()).toEqual([])
  })

  it('are not run where an import writes', async () => {
    const app = await openImporting('v2.196.0')
    const { migrationUrl } = app.deps.config.database
    const { listReaders } = await plant(app.database.directUrl, migrationUrl)
    const { tables } = await app.run()
    expect(tables[0]?.added).toBeGreaterThan(0)
    expect(await listReaders()).toEqual([])
  })

  it('are neither run by migrate nor called by what it makes', async () => {
    const database = await createEmptyDatabase()
    onTestFinished(() => database.drop())
    const { directUrl } = database
    const { listReaders } = await plant(directUrl, directUrl)
    const place = { url: directUrl, migrationUrl: directUrl, namespace: '', schema: 'auth', role: undefined }
    await migrateUp(migrateOptions({ database: place }))
    expect(await listReaders()).toEqual([])
    const dependents = `SELECT d.classid::regclass::text AS kind FROM pg_depend d
      WHERE d.refobjid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT oid FROM pg_operator WHERE oprnamespace = 'public'::regnamespace)
      AND d.classid NOT IN ('pg_operator'::regclass, 'pg_proc'::regclass)`
    expect(await runSql(directUrl, dependents)).toEqual([])
  })

  it('are not run by --check, --prepare, adopt, doctor, --undo or --forget', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl, url } = restored.database
    await setPath(restored, '"$user", public')
    const { listReaders } = await plant(superuserUrl, url)
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
    await prepare(restored)
    await adopt(restored)
    expect(await lineOf(restored, 'adoption')).toBe('ok    adoption: 0 days ago')
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    await adopt(restored)
    await forgetAdoption(restored.deps, async () => true)
    expect(await listReaders()).toEqual([])
  })

  it('are not run by the index of the directory of users, whatever the search path of a maintenance', async () => {
    const { database } = await restoreAdopted('v2.196.0')
    const { superuserUrl } = database
    const role = await addStranger(superuserUrl)
    await runSql(
      superuserUrl,
      `GRANT USAGE, CREATE ON SCHEMA public TO ${role}; SET ROLE ${role};
       CREATE SEQUENCE public.runs; GRANT ALL ON SEQUENCE public.runs TO PUBLIC;
       CREATE FUNCTION public.add(list text[], item text) RETURNS text[] LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_catalog.nextval('public.runs'); RETURN pg_catalog.array_append(list, item); END $$;
       CREATE AGGREGATE public.array_agg(text) (SFUNC = public.add, STYPE = text[])`,
    )
    // Before PostgreSQL 17, REINDEX and ANALYZE also run index functions under this path, as the table owner.
    await runSql(superuserUrl, `SET search_path = public; UPDATE auth.user_directory SET document = document || ' '`)
    expect(await runSql(superuserUrl, 'SELECT is_called AS "hasRun" FROM public.runs')).toEqual([{ hasRun: false }])
  })

  it('stop adopt behind a pooler that drops the search path of a connection', async () => {
    const { database, deps } = await restore('v2.196.0')
    const pooler = await openStartupPooler(database.url, 'drop')
    onTestFinished(() => pooler.close())
    const target = { ...adoptOptions(deps.config), url: pooler.url }
    const find = withDatabase(target, (db) =>
      findObstacles(db, { ...target, force: false, role: undefined, reach: 'anything' }),
    )
    await expect(find).rejects.toThrow(
      new Error('the search path is auth, not pg_catalog: connect to PostgreSQL itself, not through a pooler'),
    )
  })
})

/** Runs doctor. @returns its line for a check */
async function lineOf({ deps }: Restored, check: string): Promise<string | undefined> {
  const lines: string[] = []
  await doctor(
    () => deps.config,
    (line) => lines.push(line),
  )
  return lines.find((line) => line.includes(` ${check}: `))
}

describe('strangers in the schema of our tables, where the service looks for names', () => {
  const mayCreate = (who: string, grantee: string) =>
    `${who} may create functions in the schema auth, which would run as ${OWNER}: as a superuser, run REVOKE CREATE ON SCHEMA "auth" FROM ${grantee}`

  it('who may create functions there are named by --check, and stop an adoption', async () => {
    const restored = await restore('v2.196.0')
    const role = await addStranger(restored.database.superuserUrl)
    await runSql(restored.database.superuserUrl, `GRANT CREATE ON SCHEMA auth TO ${role}, PUBLIC`)
    const reasons = [mayCreate(role, `"${role}"`), mayCreate('everybody', 'PUBLIC')]
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual(reasons)
    await expect(adopt(restored)).rejects.toThrow(new Error(reasons.join('\n')))
  })

  it('stop a start and a command with what to do, and doctor says so', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    const { config } = restored.deps
    const role = await addStranger(superuserUrl)
    const lower = 'auth.lower(character varying)'
    await runSql(
      superuserUrl,
      `GRANT USAGE, CREATE ON SCHEMA auth TO ${role}; SET ROLE ${role};
       CREATE FUNCTION ${lower} RETURNS text LANGUAGE sql RETURN pg_catalog.lower($1::text)`,
    )
    const owned = `a function in the schema auth belongs to ${role}, and could run as ${OWNER}: as a superuser, run DROP FUNCTION ${lower}`
    const reasons = new Error(`${owned}\n${mayCreate(role, `"${role}"`)}`)
    await expect(expectOwnSchema(config)).rejects.toThrow(reasons)
    await expect(openOperatorDeps(config)).rejects.toThrow(reasons)
    await runSql(superuserUrl, `REVOKE CREATE ON SCHEMA auth FROM ${role}`)
    await expect(expectOwnSchema(config)).rejects.toThrow(new Error(owned))
    expect(await lineOf(restored, 'schema')).toContain(owned)
    await runSql(superuserUrl, `DROP FUNCTION ${lower}`)
    await expect(expectOwnSchema(config)).resolves.toBeUndefined()
    expect(await lineOf(restored, 'schema')).toBe('ok    schema: nobody else may create functions in auth')
  })

  it('stop no start where they may make triggers on users or act as the owner anyway', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    const [writer, member] = [await addStranger(superuserUrl), await addStranger(superuserUrl)]
    await runSql(
      superuserUrl,
      `GRANT CREATE ON SCHEMA auth TO ${writer}, ${member}; GRANT TRIGGER ON auth.users TO ${writer}; GRANT ${OWNER} TO ${member}`,
    )
    await expect(expectOwnSchema(restored.deps.config)).resolves.toBeUndefined()
  })
})

describe('a trigger of an application without a search path of its own', () => {
  const OPEN_TRIGGER = `
    CREATE TABLE public.paths (path text);
    GRANT ALL ON public.paths TO PUBLIC;
    CREATE FUNCTION public.note_path() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO public.paths VALUES (current_setting('search_path')); RETURN NULL; END $$;
    CREATE TRIGGER note_path AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION public.note_path();`

  it('runs under the schema of our tables, whatever path their owner has', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    await setPath(restored, 'public')
    await runSql(superuserUrl, OPEN_TRIGGER)
    const test = await openWorking(restored)
    const user = { email: 'new@example.com', password: 'correct horse battery' }
    expect(outcomeOf(await test.post('/signup', user))).toBe(200)
    expect(await runSql(superuserUrl, 'SELECT path FROM public.paths')).toEqual([{ path: 'auth' }])
  })

  it.each([
    ['"$user", public', 'public.note_path()'],
    ['auth, extensions', 'public.note_path()'],
  ])('is named by --check where the path of the owner was %s', async (path, name) => {
    const restored = await restore('v2.196.0')
    await setPath(restored, path)
    await runSql(restored.database.superuserUrl, OPEN_TRIGGER)
    const lines: string[] = []
    const print = (line: string) => lines.push(line)
    const command = adoptCommand(() => createQuietDeps(restored.deps.config), { print, ask: async () => undefined })
    await command.parseAsync(['--check'], { from: 'user' })
    expect(lines.filter((line) => line.startsWith('path'))).toEqual([
      `path       ${name} has no search_path of its own: it would not run under ${path}`,
    ])
  })

  it('is not named where the owner has the path that Supabase gives', async () => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, OPEN_TRIGGER)
    const { openTriggers } = await checkAdoption(restored.deps, { force: false })
    expect(openTriggers).toEqual({ path: 'auth', functions: [] })
  })
})
