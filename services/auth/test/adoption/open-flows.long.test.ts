import { expect, it } from 'vitest'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { statusAndBody } from '../bodies.ts'
import { adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { openBeside } from './imported-app.ts'
import { plainSession } from './plain-user.ts'
import { runSql } from './restored-database.ts'

const VERIFIER = 'a-verifier-of-at-least-forty-three-characters'

/** Adds flows that wait for a provider, as requests without an account create them. */
function addOpenFlows({ database, deps }: Restored, count: number): Promise<unknown> {
  return runSql(
    database.superuserUrl,
    `INSERT INTO auth.flow_state (id, auth_code, code_challenge_method, code_challenge, provider_type, created_at, updated_at,
         authentication_method)
       SELECT gen_random_uuid(), gen_random_uuid()::text, 'plain', '${VERIFIER}', 'google', moment, moment, 'oauth'
         FROM generate_series(1, ${count}), (SELECT '${deps.now().toISOString()}'::timestamptz AS moment) m`,
  )
}

/** Adds flows with an auth code and provider tokens. @param codes one code for each flow */
function addFinishedFlows({ database, deps }: Restored, codes: readonly string[]): Promise<unknown> {
  const userId = database.manifest.users.find(({ name }) => name === 'plain')?.id
  return runSql(
    database.superuserUrl,
    `INSERT INTO auth.flow_state (id, user_id, auth_code, code_challenge_method, code_challenge, provider_type, created_at,
         updated_at, authentication_method, auth_code_issued_at, provider_access_token, provider_refresh_token)
       SELECT gen_random_uuid(), '${userId}', code, 'plain', '${VERIFIER}', 'google', moment, moment, 'oauth', moment,
           'access ' || code, ''
         FROM unnest('{${codes.join()}}'::text[]) code, (SELECT '${deps.now().toISOString()}'::timestamptz AS moment) m`,
  )
}

it('copies any number of open flows by one statement, so that nobody makes requests wait by beginning many', async () => {
  const restored = await restore('v2.196.0')
  await addOpenFlows(restored, 2_000)
  const codes = ['first', 'second']
  await addFinishedFlows(restored, codes)
  const app = await openBeside(restored)
  const here = (text: string) => runSql(app.database.directUrl, text)
  await here(
    `CREATE TABLE public.statements (id int GENERATED ALWAYS AS IDENTITY, operation text);
     CREATE FUNCTION public.note_statement() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
       INSERT INTO public.statements (operation) VALUES (TG_OP); RETURN NULL; END $$;
     CREATE TRIGGER note_statement AFTER INSERT OR UPDATE ON auth.flow_state
       FOR EACH STATEMENT EXECUTE FUNCTION public.note_statement()`,
  )
  await app.run()
  expect(await here('SELECT operation FROM public.statements ORDER BY id')).toEqual([
    { operation: 'INSERT' },
    { operation: 'UPDATE' },
  ])
  expect(await here(`SELECT count(*)::int FROM auth.flow_state WHERE code_challenge = '${VERIFIER}'`)).toEqual([
    { count: 2_002 },
  ])
  await here('DROP TRIGGER note_statement ON auth.flow_state')
  for (const code of codes) {
    const exchanged = await app.post('/token?grant_type=pkce', { auth_code: code, code_verifier: VERIFIER })
    const { provider_token, provider_refresh_token } = exchanged.json()
    expect([exchanged.statusCode, provider_token, provider_refresh_token]).toEqual([200, `access ${code}`, undefined])
  }
})

it('adopt exchanges the code of a flow with the tokens of its provider', async () => {
  const restored = await restore('v2.196.0')
  await addFinishedFlows(restored, ['only'])
  await adopt(restored)
  const app = await openAdopted(restored)
  const exchanged = await app.post('/token?grant_type=pkce', { auth_code: 'only', code_verifier: VERIFIER })
  expect(statusAndBody(exchanged)).toEqual([200, { ...plainSession(app.user('plain')), provider_token: 'access only' }])
})

it('counts open flows in the estimate of the pause, which the check prints, and no flow that has expired', async () => {
  const restored = await restore('v2.196.0')
  const pauseOf = async () => (await checkAdoption(restored.deps, { force: false })).seconds.pause
  const before = await pauseOf()
  await addOpenFlows(restored, 60_000)
  expect(await pauseOf()).toBe(before + 1)
  await runSql(
    restored.database.superuserUrl,
    `UPDATE auth.flow_state SET created_at = created_at - interval '2 days', updated_at = updated_at - interval '2 days'`,
  )
  expect(await pauseOf()).toBe(before)
})
