import { expect, it } from 'vitest'
import { adopt, openAdopted, type Restored, restore } from '../../../test/adoption/adopted-app.ts'
import { openBeside } from '../../../test/adoption/imported-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { createQuietDeps } from '../../commands/operator-deps.ts'
import { adoptCommand } from '../commands/adopt.ts'
import { importCommand } from '../commands/import-database.ts'

/** Gives users an instance as a seed file or another program may, or none, and returns their ids in order. */
async function giveOtherInstances({ database }: Restored): Promise<readonly string[]> {
  const idOf = (name: string) => database.manifest.users.find((user) => user.name === name)?.id ?? ''
  const ids = ['plain', 'totp']
  const [plain, totp, phone] = [...ids, 'phone'].map(idOf)
  await runSql(
    database.superuserUrl,
    `UPDATE auth.users SET instance_id = NULL WHERE id = '${plain}';
     UPDATE auth.users SET instance_id = '11111111-1111-1111-1111-111111111111' WHERE id = '${totp}';
     UPDATE auth.users SET instance_id = NULL, deleted_at = now() WHERE id = '${phone}'`,
  )
  return ids.map(idOf).sort()
}

const lineOf = (ids: readonly string[]) =>
  `gained     2 users have another instance_id than that of supabase/auth, which finds none of them: they sign in here: ${ids.join(', ')}`

it('adopt --check names users whom supabase/auth finds by nothing, and who sign in here', async () => {
  const restored = await restore('v2.196.0')
  const ids = await giveOtherInstances(restored)
  const lines: string[] = []
  const conversation = { print: (line: string) => lines.push(line), ask: async () => undefined }
  await adoptCommand(() => createQuietDeps(restored.deps.config), conversation).parseAsync(['--check'], {
    from: 'user',
  })
  expect(lines.filter((line) => line.startsWith('gained'))).toEqual([lineOf(ids)])
  await adopt(restored)
  const app = await openAdopted(restored)
  const { email, password } = app.user('plain') ?? {}
  expect((await app.post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
})

it('an import names users whom supabase/auth finds by nothing, and who sign in here', async () => {
  const restored = await restore('v2.196.0')
  const ids = await giveOtherInstances(restored)
  const { deps } = await openBeside(restored)
  const lines: string[] = []
  const conversation = { print: (line: string) => lines.push(line), ask: async () => undefined }
  const run = (...flags: readonly string[]) =>
    importCommand(() => createQuietDeps(deps.config), conversation).parseAsync(
      ['--from-database', restored.database.url, ...flags],
      {
        from: 'user',
      },
    )
  await run()
  expect(lines.filter((line) => line.startsWith('gained'))).toEqual([lineOf(ids)])
  lines.length = 0
  await run('--json')
  expect(lines.map((line) => JSON.parse(line).other_instances)).toEqual([{ count: 2, ids }])
})
