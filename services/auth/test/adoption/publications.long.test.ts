import { expect, it } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

/** The lines of `adopt --check` about publications. */
async function checkPublications({ deps }: Restored): Promise<readonly string[]> {
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await command.parseAsync(['--check'], { from: 'user' })
  return lines.filter((line) => line.includes('publication'))
}

it.each(['FOR ALL TABLES', 'FOR TABLES IN SCHEMA auth'])(
  'a database with a publication %s is adopted, serves and is given back, and --check names the publication',
  async (tables) => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, `CREATE PUBLICATION everything ${tables}`)
    expect(await checkPublications(restored)).toEqual([
      'depends    publication everything: it would publish the tables of this service; name the tables that it needs',
    ])
    await adopt(restored)
    const { post, user } = await openAdopted(restored)
    const { email, password } = user('plain') ?? {}
    expect((await post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await runSql(superuserUrl, 'SELECT pubname FROM pg_publication')).toEqual([{ pubname: 'everything' }])
  },
)

it('publications of other schemas and of no table are not named by --check', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    'CREATE PUBLICATION nothing; CREATE PUBLICATION others FOR TABLES IN SCHEMA public',
  )
  expect(await checkPublications(restored)).toEqual([])
})

it('a publication of a table that stays is named by --check, unless it names columns', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    `CREATE PUBLICATION warehouse FOR TABLE auth.users, public.notes;
     CREATE PUBLICATION narrow FOR TABLE auth.users (id, email)`,
  )
  expect(await checkPublications(restored)).toEqual([
    'depends    publication warehouse on users: it would publish columns of this service; name those that it needs, or add them at the subscriber',
  ])
})
