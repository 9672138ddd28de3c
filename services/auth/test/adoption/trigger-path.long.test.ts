import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { adopt, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

/** Application triggers with a function that has no `search_path` of its own and records the current one. */
const TRIGGERS = `
  CREATE TABLE public.noted (name text, path text);
  GRANT ALL ON public.noted TO PUBLIC;
  CREATE FUNCTION auth.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.noted VALUES (TG_NAME, current_setting('search_path')); RETURN NULL; END $$;
  CREATE TRIGGER factor AFTER UPDATE ON auth.mfa_factors FOR EACH ROW EXECUTE FUNCTION auth.note();
  CREATE TRIGGER changed AFTER UPDATE ON auth.users FOR EACH ROW EXECUTE FUNCTION auth.note();
  CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON auth.users DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION auth.note()`
/** A NULL that supabase/auth cannot read, so that undo changes a user. */
const UNREADABLE = 'UPDATE auth.users SET email_change = NULL WHERE id = (SELECT min(id::text)::uuid FROM auth.users)'
const NOTED = 'SELECT DISTINCT name, path FROM public.noted ORDER BY name'

describe('triggers of applications without a search path of their own', () => {
  it('run under the schema of the tables while an adoption and its undo change rows, as while the service does', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, TRIGGERS)
    await adopt(restored)
    await runSql(superuserUrl, UNREADABLE)
    await runSql(superuserUrl, `DELETE FROM public.noted WHERE name <> 'factor'`)
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await runSql(superuserUrl, NOTED)).toEqual(
      ['changed', 'factor', 'later'].map((name) => ({ name, path: 'auth' })),
    )
  })

  it('run under pg_catalog at an undo while somebody else may put functions into the schema', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, TRIGGERS)
    await adopt(restored)
    const role = `stranger_${randomUUID().slice(0, 8)}`
    onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role}; DROP ROLE ${role}`).then(() => {}))
    await runSql(superuserUrl, `CREATE ROLE ${role}; GRANT CREATE ON SCHEMA auth TO ${role}`)
    await runSql(superuserUrl, UNREADABLE)
    await runSql(superuserUrl, 'DELETE FROM public.noted')
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await runSql(superuserUrl, NOTED)).toEqual(
      ['changed', 'later'].map((name) => ({ name, path: 'pg_catalog' })),
    )
  })
})
