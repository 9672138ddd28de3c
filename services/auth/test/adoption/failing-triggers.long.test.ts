import { describe, expect, it } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { prepareAdoption } from '../../src/adoption/use-cases/adopt-database.ts'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { adopt, connectOld, prepare, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

const AUDIT = `
  CREATE TABLE public.audit AS SELECT * FROM auth.users WITH NO DATA;
  CREATE TABLE public.claims AS SELECT * FROM auth.mfa_amr_claims WITH NO DATA;
  CREATE TABLE public.visits AS SELECT * FROM auth.sessions WITH NO DATA;
  CREATE TABLE public.log (document jsonb);
  GRANT ALL ON ALL TABLES IN SCHEMA public TO supabase_auth_admin`

/** A trigger and its function, which runs with the rights of the role that writes the table. */
const trigger = (name: string, when: string, body: string) => `
  CREATE FUNCTION public.${name}() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$ BEGIN ${body}; RETURN NULL; END $$;
  CREATE TRIGGER ${name} ${when} EXECUTE FUNCTION public.${name}()`

const TRANSITION = trigger(
  'of_statement',
  'AFTER UPDATE ON auth.users REFERENCING NEW TABLE AS changed FOR EACH STATEMENT',
  'insert into public.audit select * from changed',
)
const MERGE = trigger(
  'by_merge',
  'AFTER UPDATE ON auth.users FOR EACH ROW',
  'merge into public.audit a using (select new.*) n on a.id = n.id when not matched then insert values (n.*)',
)
/** No text names the columns or seems to use all of them. */
const CAST = trigger(
  'by_cast',
  'AFTER INSERT OR UPDATE OF email ON auth.users FOR EACH ROW WHEN (new.email IS NOT NULL)',
  'insert into public.log values (to_jsonb(new::text::public.audit))',
)
const DEFERRED = `
  CREATE FUNCTION public.at_commit() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS
    $$ DECLARE name text := 'claims'; BEGIN execute format('insert into public.%I select ($1)' || '.*', name) using new; RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON auth.mfa_amr_claims DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.at_commit()`
const SESSIONS = trigger(
  'of_sessions',
  'AFTER DELETE ON auth.sessions REFERENCING OLD TABLE AS gone FOR EACH STATEMENT',
  `execute 'insert into public.visits table ' || 'gone'`,
)

const fails = (name: string, table: string, { on, word }: { readonly on: string; readonly word: string }) =>
  `the trigger ${name} on auth.${table}, which runs public.${name}(), fails once the table gets columns of this service, and with it each ${on} there, such as a sign-in: ${word}. Name the columns that the function needs, or drop the trigger`
const MORE = 'INSERT has more expressions than target columns'

/** The statements of the old service for a sign-in. */
const signIn = (id: string) => [
  `INSERT INTO sessions (id, user_id, aal, created_at, updated_at) VALUES ('11111111-1111-4111-8111-111111111111', '${id}', 'aal1', now(), now())`,
  `INSERT INTO mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
   VALUES (gen_random_uuid(), '11111111-1111-4111-8111-111111111111', now(), now(), 'password')`,
  `UPDATE users SET last_sign_in_at = now(), updated_at = now() WHERE id = '${id}'`,
  `DELETE FROM sessions WHERE id = '11111111-1111-4111-8111-111111111111'`,
]

async function expectSignIn(restored: Restored): Promise<void> {
  const client = await connectOld(restored)
  const id = restored.database.manifest.users[0]?.id ?? ''
  for (const statement of signIn(id)) expect((await client.query(statement)).rowCount).toBe(1)
}

const readState = ({ database }: Restored) =>
  runSql(
    database.superuserUrl,
    `SELECT c.oid::regclass::text AS name, (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid) AS columns,
       (SELECT array_agg(t.tgname::text || t.tgenabled::text ORDER BY t.tgname) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS triggers
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname !~ '^pg_' AND c.relkind IN ('r', 'S', 'i') ORDER BY 1`,
  )

describe('a trigger that fails on a table with more columns', () => {
  it.each([
    ['a statement with its rows', TRANSITION, fails('of_statement', 'users', { on: 'UPDATE', word: MORE })],
    ['a MERGE', MERGE, fails('by_merge', 'users', { on: 'UPDATE', word: MORE })],
    ['a text of a row', CAST, fails('by_cast', 'users', { on: 'UPDATE', word: `malformed record literal` })],
    ['a statement at the commit', DEFERRED, fails('at_commit', 'mfa_amr_claims', { on: 'INSERT', word: MORE })],
    ['TABLE in a text', SESSIONS, fails('of_sessions', 'sessions', { on: 'DELETE', word: MORE })],
  ])('is named where it keeps rows by %s, and the old service signs in as before', async (_, made, named) => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, `${AUDIT}; ${made}`)
    const before = await readState(restored)
    expect((await checkAdoption(restored.deps, { force: true })).obstacles).toEqual([named])
    await expect(prepareAdoption(restored.deps, { force: true, report: () => {} })).rejects.toThrow(new Error(named))
    expect(await readState(restored)).toEqual(before)
    await expectSignIn(restored)
  })
})

it('each of several triggers that fail is named, also those that run with the rights of a superuser', async () => {
  const restored = await restore('v2.43.1')
  const other = (name: string, body: string) =>
    trigger(name, 'AFTER UPDATE ON auth.users FOR EACH ROW', body).replace('plpgsql', 'plpgsql SECURITY DEFINER')
  await runSql(
    restored.database.superuserUrl,
    [
      AUDIT,
      other('by_select', 'insert into public.audit select (old).*'),
      other('by_values', 'INSERT INTO public.audit VALUES (NEW.*)'),
      other('by_parameter', `EXECUTE 'insert into public.audit select ($1).*' USING old`),
      other('harmless', 'insert into public.log values (to_jsonb(new))'),
    ].join(';'),
  )
  const named = ['by_parameter', 'by_select', 'by_values'].map((name) =>
    fails(name, 'users', { on: 'UPDATE', word: MORE }),
  )
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual(named)
  await expect(prepare(restored)).rejects.toThrow(new Error(named.join('\n')))
  await expectSignIn(restored)
})

it('triggers that fail only together are told by what fires them', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    [
      AUDIT,
      trigger('first', 'AFTER UPDATE ON auth.users FOR EACH ROW', `perform set_config('app.first', 'ran', true)`),
      trigger(
        'second',
        'AFTER UPDATE ON auth.users FOR EACH ROW',
        `if current_setting('app.first', true) = 'ran' then perform new::text::public.audit; end if`,
      ),
    ].join(';'),
  )
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([
    'each UPDATE of auth.users fails once the table gets columns of this service, and with it what does it, such as a sign-in: malformed record literal. Find the trigger that fails, and name the columns that its function needs, or drop it',
  ])
})

const HARMLESS = [
  trigger(
    'as_json',
    'AFTER INSERT OR UPDATE OR DELETE ON auth.users FOR EACH ROW',
    'insert into public.log values (to_jsonb(new)), (to_jsonb(old))',
  ),
  trigger(
    'counted',
    'AFTER UPDATE ON auth.sessions REFERENCING OLD TABLE AS former FOR EACH STATEMENT',
    'insert into public.log select to_jsonb(count(*)) from former',
  ),
  `${TRANSITION}; ALTER TABLE auth.users DISABLE TRIGGER of_statement`,
]

it('triggers that take any columns, or are disabled, are not named, and leave nothing of the trial', async () => {
  const restored = await restore('v2.151.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, [AUDIT, ...HARMLESS].join(';'))
  const before = await readState(restored)
  const { obstacles, doubts } = await checkAdoption(restored.deps, { force: false })
  // The text of the disabled trigger function still uses all columns.
  expect({ obstacles, doubts }).toEqual({
    obstacles: [
      'the function public.of_statement() takes all columns of auth.users, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same',
    ],
    doubts: [],
  })
  expect(await readState(restored)).toEqual(before)
  expect(await runSql(superuserUrl, 'SELECT FROM public.log')).toEqual([])
  await runSql(superuserUrl, 'DROP FUNCTION public.of_statement() CASCADE')
  await adopt(restored)
})

const INVITED = trigger('invited', 'BEFORE INSERT ON auth.users FOR EACH ROW', `raise exception 'no invitation'`)
const UNINVITED =
  'the trigger invited on auth.users was not tried for each INSERT, since it fails without columns of this service too (no invitation): see that public.invited() takes no whole row of the table'

describe('a trigger that cannot be tried', () => {
  const judge = async ({ deps }: Restored) => {
    const { obstacles, doubts } = await checkAdoption(deps, { force: false })
    return { obstacles, doubts }
  }

  it('is named by the command, which goes on', async () => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, INVITED)
    const lines: string[] = []
    const print = (line: string) => {
      lines.push(line)
    }
    await adoptCommand(() => createQuietDeps(restored.deps.config), { print, ask: async () => 'n' }).parseAsync(
      ['--check'],
      {
        from: 'user',
      },
    )
    expect(lines.filter((line) => /^(look at|ok) /.test(line))).toEqual([
      `look at    ${UNINVITED}`,
      'ok         auth adopt can run',
    ])
  })

  it('is named where it fails without more columns too, beside those that fail with them', async () => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, [AUDIT, INVITED, TRANSITION, MERGE].join(';'))
    expect(await judge(restored)).toEqual({
      obstacles: [
        fails('by_merge', 'users', { on: 'UPDATE', word: MORE }),
        fails('of_statement', 'users', { on: 'UPDATE', word: MORE }),
      ],
      doubts: [UNINVITED],
    })
  })

  it('is judged by its text where the database allows reading alone', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, [AUDIT, MERGE].join(';'))
    await runSql(
      superuserUrl,
      `ALTER DATABASE ${new URL(superuserUrl).pathname.slice(1)} SET default_transaction_read_only = on`,
    )
    expect(await judge(restored)).toEqual({
      obstacles: [expect.stringMatching(/^the function public.by_merge\(\) takes all columns of auth.users, /)],
      doubts: ['the triggers on auth.users were not tried: the database allows reading alone: run this on the primary'],
    })
  })

  it('does not run by --check where an extension may act outside of the database, and runs by --prepare', async () => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, [AUDIT, CAST, 'CREATE EXTENSION dblink'].join(';'))
    expect(await judge(restored)).toEqual({
      obstacles: [],
      doubts: [
        'the triggers on auth.users were not tried: the extension dblink may act outside of the database, which nothing takes back: auth adopt --prepare tries them',
      ],
    })
    await expect(prepare(restored)).rejects.toThrow('the trigger by_cast on auth.users')
  })
})
