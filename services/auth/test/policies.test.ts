import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from './auth-app.ts'
import { claimsOf } from './authenticator-app.ts'

// Tests row level security as in the guides of Supabase: an application's tables next to those of the service, and policies based
// on the caller. Statements run like in PostgREST, which takes the role of the access token for a transaction and sets a
// parameter to the claims.
const PASSWORD = 'correct horse battery'

const SCHEMA = `
  CREATE TABLE public.members (
    id uuid PRIMARY KEY REFERENCES auth.users ON DELETE CASCADE,
    full_name text
  );
  CREATE FUNCTION public.handle_new_member() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  BEGIN
    INSERT INTO public.members (id, full_name) VALUES (NEW.id, NEW.raw_user_meta_data ->> 'full_name');
    RETURN NEW;
  END $$;
  CREATE TRIGGER on_auth_member_created AFTER INSERT ON auth.users
    FOR EACH ROW EXECUTE PROCEDURE public.handle_new_member();
  ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;
  CREATE POLICY "everyone reads" ON public.members FOR SELECT USING (true);
  CREATE POLICY "owners change" ON public.members FOR UPDATE TO authenticated
    USING ((SELECT auth.uid()) = id) WITH CHECK ((SELECT auth.uid()) = id);

  CREATE TABLE public.drafts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner uuid NOT NULL DEFAULT auth.uid() REFERENCES auth.users,
    author text DEFAULT auth.email(),
    content text
  );
  ALTER TABLE public.drafts ENABLE ROW LEVEL SECURITY;
  CREATE POLICY "owners" ON public.drafts TO authenticated
    USING (auth.uid() = owner) WITH CHECK (auth.uid() = owner AND auth.role() = 'authenticated');
  CREATE POLICY "factors" ON public.drafts AS RESTRICTIVE TO authenticated USING (
    ARRAY[(SELECT auth.jwt() ->> 'aal')] <@ (
      SELECT CASE WHEN count(id) > 0 THEN ARRAY['aal2'] ELSE ARRAY['aal1', 'aal2'] END
      FROM auth.mfa_factors WHERE (SELECT auth.uid()) = user_id AND status = 'verified'));
  CREATE POLICY "team" ON public.drafts FOR SELECT TO authenticated
    USING ((SELECT (auth.jwt() -> 'app_metadata' ->> 'team')) = content);

  GRANT SELECT, UPDATE ON public.members TO anon, authenticated, service_role;
  GRANT SELECT, INSERT ON public.drafts TO anon, authenticated, service_role;
  GRANT SELECT ON auth.mfa_factors TO authenticated;`

let test: TestApp
let owner: pg.Client
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_MAILER_AUTOCONFIRM: 'true' } })
  owner = new pg.Client(test.database.directUrl)
  await owner.connect()
  await owner.query(SCHEMA)
})
afterAll(async () => {
  await owner.end()
  await test.close()
})

let people = 0
/** Signs up a user. @returns the claims and the id */
async function signUp(data: object = {}) {
  people += 1
  const email = `reader${people}@example.com`
  const answer = await test.post('/signup', { email, password: PASSWORD, data })
  expect(answer.statusCode).toBe(200)
  return { email, claims: claimsOf(answer.json().access_token), id: String(answer.json().user.id) }
}

type Claims = Readonly<Record<string, unknown>>

/** Runs a statement as PostgREST does for a request with these claims. @returns its rows or error code */
async function request(claims: Claims, statement: string): Promise<readonly unknown[] | string> {
  await owner.query('BEGIN')
  try {
    const set = `SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)`
    await owner.query(set, [claims.role, JSON.stringify(claims)])
    const { rows } = await owner.query(statement)
    await owner.query('COMMIT')
    return rows
  } catch (error) {
    await owner.query('ROLLBACK')
    return error instanceof pg.DatabaseError ? String(error.code) : Promise.reject(error)
  }
}

const ANON = { role: 'anon', iss: 'supabase' }
const SERVICE = { role: 'service_role', iss: 'supabase' }
const ASKED = 'SELECT auth.uid(), auth.role(), auth.email(), auth.jwt()'
const NOBODY = { uid: null, role: null, email: null, jwt: null }

describe('the functions for policies', () => {
  it('tell the claims of the access token of a request, and nothing afterwards', async () => {
    const { claims, id, email } = await signUp()
    expect(await request(claims, ASKED)).toEqual([{ uid: id, role: 'authenticated', email, jwt: claims }])
    expect(await request(ANON, ASKED)).toEqual([{ ...NOBODY, role: 'anon', jwt: ANON }])
    expect((await owner.query(ASKED)).rows).toEqual([NOBODY])
  })

  it('read one parameter for each claim, as PostgREST before version 9 sets them', async () => {
    const sub = randomUUID()
    await owner.query('BEGIN')
    const one = `set_config('request.jwt.claim.' || $1, $2, true)`
    for (const [name, value] of Object.entries({ sub, role: 'authenticated', email: 'old@example.com' })) {
      await owner.query(`SELECT ${one}`, [name, value])
    }
    await owner.query(`SELECT set_config('request.jwt.claims', $1, true)`, [JSON.stringify({ sub: randomUUID() })])
    const { rows } = await owner.query('SELECT auth.uid(), auth.role(), auth.email()')
    await owner.query(`SELECT set_config('request.jwt.claim', '{"sub":"whole"}', true)`)
    const whole = await owner.query('SELECT auth.jwt()')
    await owner.query('ROLLBACK')
    expect(rows).toEqual([{ uid: sub, role: 'authenticated', email: 'old@example.com' }])
    expect(whole.rows).toEqual([{ jwt: { sub: 'whole' } }])
    expect((await owner.query(ASKED)).rows).toEqual([NOBODY])
  })

  it('are replaced by their bodies, so that a policy finds rows by an index', async () => {
    const { rows } = await owner.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN (VERBOSE, COSTS OFF) SELECT FROM auth.users WHERE id = auth.uid()',
    )
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('request.jwt.claims')
    expect(plan).not.toContain('auth.uid()')
  })
})

describe('row level security', () => {
  it('lets everybody read, and the owner alone change', async () => {
    const [ann, bob] = [await signUp({ full_name: 'Ann' }), await signUp({ full_name: 'Bob' })]
    const named = `SELECT full_name FROM public.members WHERE id IN ('${ann.id}', '${bob.id}') ORDER BY full_name`
    for (const claims of [ANON, ann.claims, SERVICE]) {
      expect(await request(claims, named)).toEqual([{ full_name: 'Ann' }, { full_name: 'Bob' }])
    }
    const rename = (id: string) => `UPDATE public.members SET full_name = 'New' WHERE id = '${id}' RETURNING id`
    expect(await request(ann.claims, rename(ann.id))).toEqual([{ id: ann.id }])
    expect(await request(ann.claims, rename(bob.id))).toEqual([])
    expect(await request(ANON, rename(ann.id))).toEqual([])
    expect(await request(SERVICE, rename(bob.id))).toEqual([{ id: bob.id }])
  })

  it('fills columns with the user of the request, and refuses rows of another user', async () => {
    const { claims, id, email } = await signUp()
    const write = (columns: string, values: string) =>
      `INSERT INTO public.drafts (${columns}) VALUES (${values}) RETURNING owner, author`
    expect(await request(claims, write('content', `'mine'`))).toEqual([{ owner: id, author: email }])
    expect(await request(claims, write('owner, content', `'${(await signUp()).id}', 'theirs'`))).toBe('42501')
    expect(await request(ANON, write('owner, content', `'${id}', 'from outside'`))).toBe('42501')
    expect(await request((await signUp()).claims, 'SELECT content FROM public.drafts')).toEqual([])
    expect(await request(SERVICE, `SELECT content FROM public.drafts WHERE owner = '${id}'`)).toEqual([
      { content: 'mine' },
    ])
  })

  it('reads app_metadata and the level of the session in the claims', async () => {
    const { claims, id } = await signUp()
    await owner.query(`INSERT INTO public.drafts (owner, content) VALUES ($1, 'own'), ($2, 'red')`, [
      id,
      (await signUp()).id,
    ])
    const read = 'SELECT content FROM public.drafts ORDER BY content'
    expect(await request(claims, read)).toEqual([{ content: 'own' }])
    expect(await request({ ...claims, app_metadata: { team: 'red' } }, read)).toEqual([
      { content: 'own' },
      { content: 'red' },
    ])
    await owner.query(
      `INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
       VALUES (gen_random_uuid(), $1, 'totp', 'verified', now(), now())`,
      [id],
    )
    expect(await request(claims, read)).toEqual([])
    expect(await request({ ...claims, aal: 'aal2' }, read)).toEqual([{ content: 'own' }])
  })

  it('leaves the tables of the service to their owner', async () => {
    const { claims, id } = await signUp()
    for (const statement of [
      'SELECT id FROM auth.users',
      `UPDATE auth.users SET role = 'service_role' WHERE id = '${id}'`,
      'SELECT token_hash FROM auth.refresh_tokens',
      'SELECT payload FROM auth.audit_log_entries',
      `SELECT auth.sign_out('${id}', gen_random_uuid(), 'global', false, '', false)`,
      'CREATE TEMP TABLE mine (id uuid); CREATE TRIGGER t AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION auth.list_user()',
      'CREATE TEMP TABLE mine (id uuid); CREATE TRIGGER t BEFORE UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION auth.claim_user()',
    ]) {
      expect([statement, await request(claims, statement)]).toEqual([statement, '42501'])
      expect([statement, await request(ANON, statement)]).toEqual([statement, '42501'])
    }
  })
})
