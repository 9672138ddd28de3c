import { expect, it } from 'vitest'
import { adopt, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { undoAdoption } from '../use-cases/undo-adoption.ts'

/** Returns all properties of the keys of `identities` that a dump contains, and the replica identity of the table. */
function readKeys({ database }: Restored): Promise<readonly unknown[]> {
  return runSql(
    database.superuserUrl,
    `SELECT pg_get_indexdef(i.indexrelid) AS definition, i.indisreplident AS replica, i.indisclustered AS clustered,
       c.reloptions AS options, t.relreplident AS identity, obj_description(c.oid, 'pg_class') AS "indexComment",
       obj_description(k.oid, 'pg_constraint') AS comment
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
     LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid
     WHERE i.indrelid = 'auth.identities'::regclass ORDER BY 1`,
  )
}

/** Changes and deletes identities, as a sign-in and an unlink do. @returns the number of changed ones */
async function change({ database }: Restored): Promise<number> {
  const changed = await runSql(database.superuserUrl, 'UPDATE auth.identities SET updated_at = now() RETURNING 1')
  await runSql(database.superuserUrl, 'DELETE FROM auth.identities WHERE user_id IS NULL')
  return changed.length
}

const undo = ({ deps }: Restored) => undoAdoption(deps, async () => true)

/** Settings of an operator that involve the key of `identities`. */
const SETUPS = {
  'the key as replica identity': `
    ALTER TABLE auth.identities REPLICA IDENTITY USING INDEX identities_pkey;
    CREATE PUBLICATION linked FOR TABLE auth.identities`,
  'a publication of some columns': 'CREATE PUBLICATION linked FOR TABLE auth.identities (provider, id, user_id)',
  'a publication of some rows': `CREATE PUBLICATION linked FOR TABLE auth.identities WHERE (provider <> 'sso')`,
  'a key of an own form': `
    ALTER INDEX auth.identities_pkey SET (fillfactor = 70, deduplicate_items = off);
    ALTER TABLE auth.identities CLUSTER ON identities_pkey;
    COMMENT ON CONSTRAINT identities_pkey ON auth.identities IS 'the operator''s';
    COMMENT ON INDEX auth.identities_pkey IS 'small pages'`,
} as const

it.each(Object.entries(SETUPS))(
  'identities of 2.43.1 with %s can be changed after adopt and after adopt --undo, which gives the keys back',
  async (_name, setup) => {
    const restored = await restore('v2.43.1')
    await runSql(restored.database.superuserUrl, setup)
    const before = await readKeys(restored)
    const rows = restored.database.manifest.rows.identities
    expect(await change(restored)).toBe(rows)
    await adopt(restored)
    expect(await change(restored)).toBe(rows)
    expect(await undo(restored)).toBe(true)
    expect(await change(restored)).toBe(rows)
    expect(await readKeys(restored)).toEqual(before)
  },
)
