import { expect, it } from 'vitest'
import { adopt, prepare, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'

const inherits = (heir: string, table: string) =>
  `the table ${heir} inherits from ${table}, so this service would take its rows for its own: as its owner, run ALTER TABLE ${heir} NO INHERIT ${table}`

const HEIRS = `
  CREATE SCHEMA arch;
  CREATE TABLE arch.users_gone (gone_at timestamptz) INHERITS (auth.users);
  INSERT INTO arch.users_gone (id, email) VALUES (gen_random_uuid(), 'gone@example.com');
  CREATE TABLE arch.older () INHERITS (arch.users_gone);
  CREATE TABLE arch."Sessions" () INHERITS (auth.sessions);
  ALTER TABLE arch."Sessions" OWNER TO supabase_auth_admin`

it('adopt refuses tables that inherit from one that stays, which --check names with the statement to run', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, HEIRS)
  const { obstacles } = await checkAdoption(restored.deps, { force: false })
  expect(obstacles).toEqual([inherits('arch."Sessions"', 'auth.sessions'), inherits('arch.users_gone', 'auth.users')])
  await expect(adopt(restored)).rejects.toThrow(new Error(obstacles.join('\n')))
  const begun = "SELECT to_regnamespace('auth_before_trestle') AS begun"
  expect(await runSql(superuserUrl, begun)).toEqual([{ begun: null }])
  await runSql(superuserUrl, obstacles.map((line) => line.split(', run ')[1]).join('; '))
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
  await adopt(restored)
})

it('adopt refuses a table that inherits from one that stays and comes after --prepare, before the switch', async () => {
  const restored = await restore('v2.43.1')
  await prepare(restored)
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'CREATE TABLE public.proofs () INHERITS (auth.mfa_amr_claims)')
  await expect(adopt(restored)).rejects.toThrow(new Error(inherits('public.proofs', 'auth.mfa_amr_claims')))
  expect(await runSql(superuserUrl, "SELECT to_regclass('auth_before_trestle.refresh_tokens') AS moved")).toEqual([
    { moved: null },
  ])
})

it('adopt refuses partitions of a table that stays', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    `ALTER TABLE auth.mfa_amr_claims RENAME TO claims_before;
     CREATE TABLE auth.mfa_amr_claims (LIKE auth.claims_before) PARTITION BY HASH (id);
     CREATE TABLE auth.claims_1 PARTITION OF auth.mfa_amr_claims FOR VALUES WITH (MODULUS 1, REMAINDER 0);
     ALTER TABLE auth.mfa_amr_claims OWNER TO supabase_auth_admin`,
  )
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([
    'the table auth.claims_1 is a partition of auth.mfa_amr_claims, which may have none: copy its rows into a table without partitions that takes this name',
  ])
})
