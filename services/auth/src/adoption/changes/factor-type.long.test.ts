import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { readCatalogue } from '@trestle/database/rehearsal/drift.ts'
import { expect, it } from 'vitest'
import { adopt, prepare, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { createQuietDeps } from '../../commands/operator-deps.ts'
import { adoptCommand } from '../commands/adopt.ts'

const read = ({ database: { superuserUrl: url } }: Restored) =>
  withDatabase({ url }, (db) =>
    db
      .transaction()
      .execute(async (trx) => Object.fromEntries(await readCatalogue(trx, { schema: 'auth', prefix: '' }))),
  )

async function undo({ deps }: Restored): Promise<readonly string[]> {
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await command.parseAsync(['--undo', '--yes'], { from: 'user' })
  return lines
}

const UNSERVED = 'this service has not taken over: no session ends, and the old service may go on serving'
const SERVED = '0 of 17 sessions have begun, refreshed or ended by a theft since the switch: their users sign in again'
const DONE = 'the old service has its database back'
const keeps = (...needs: readonly string[]) =>
  `the type factor_type keeps the value phone, which nothing uses there: no type without it can take its place because of ${needs.join(', ')}`

/** Each of these objects prevents a new type for the column. The error of PostgreSQL does not name the last two. */
const NEEDS = `
  CREATE VIEW public.factors_seen AS SELECT user_id, factor_type FROM auth.mfa_factors;
  CREATE POLICY totp_only ON auth.mfa_factors FOR SELECT USING (factor_type = 'totp');
  CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
  CREATE TRIGGER noted AFTER UPDATE OF factor_type ON auth.mfa_factors FOR EACH ROW EXECUTE FUNCTION public.note();
  CREATE FUNCTION public.count_of(kind auth.factor_type) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
  CREATE INDEX totp ON auth.mfa_factors (user_id) WHERE factor_type = 'totp';
  ALTER TABLE auth.mfa_factors ADD CONSTRAINT known CHECK (factor_type IN ('totp', 'webauthn'))`
const NAMED = [
  'constraint known on table auth.mfa_factors',
  'function public.count_of(auth.factor_type)',
  'index auth.totp',
  'policy totp_only on table auth.mfa_factors',
  'trigger noted on table auth.mfa_factors',
  'view public.factors_seen',
]

it('undo of an older version leaves the value for phones where objects of others need the type, and names them', async () => {
  const restored = await restore('v2.151.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, NEEDS)
  const before = await read(restored)
  expect(before['type factor_type']).toMatch(/^e totp, webauthn( |$)/)
  const after = { ...before, 'type factor_type': before['type factor_type']?.replace('webauthn', 'webauthn, phone') }
  await prepare(restored)
  expect(await undo(restored)).toEqual([UNSERVED, keeps(...NAMED), DONE])
  expect(await read(restored)).toEqual(after)
  await adopt(restored)
  // No note about the value `phone`, because the value existed before this adoption.
  expect(await undo(restored)).toEqual([SERVED, DONE])
  expect(await read(restored)).toEqual(after)
})

it('undo of an older version loses no value, comment or right that an operator has given the type of factors', async () => {
  const restored = await restore('v2.151.0')
  await runSql(
    restored.database.superuserUrl,
    `ALTER TYPE auth.factor_type ADD VALUE 'email'; COMMENT ON TYPE auth.factor_type IS 'of a second factor';
     GRANT USAGE ON TYPE auth.factor_type TO anon`,
  )
  const before = await read(restored)
  await adopt(restored)
  expect(await undo(restored)).toEqual([SERVED, keeps('its comment', 'its rights', 'its value email'), DONE])
  expect(await read(restored)).toEqual({
    ...before,
    'type factor_type': before['type factor_type']?.replace('email', 'email, phone'),
  })
})
