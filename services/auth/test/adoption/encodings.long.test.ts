import { migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { expect, it, onTestFinished } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { adoptOptions } from '../../src/migrations.ts'
import { restore } from './adopted-app.ts'
import { giveToOwner, loadDump, ownerUrl, runSql } from './restored-database.ts'

/** Restores a database in an encoding. @returns its superuser URL, and a function that runs `auth adopt` on it */
async function restoreIn(encoding: string) {
  const { database, deps } = await restore('v2.196.0')
  const name = `${new URL(database.superuserUrl).pathname.slice(1)}_${encoding.toLowerCase()}`
  await runSql(database.superuserUrl, `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`)
  onTestFinished(() => runSql(database.superuserUrl, `DROP DATABASE ${name} WITH (FORCE)`).then(() => {}))
  const superuserUrl = Object.assign(new URL(database.superuserUrl), { pathname: `/${name}` }).href
  await loadDump(superuserUrl, 'v2.196.0')
  await giveToOwner(superuserUrl)
  const url = ownerUrl(superuserUrl)
  const config = { ...deps.config, database: { ...deps.config.database, url, migrationUrl: url } }
  const run = async (...flags: readonly string[]) => {
    const lines: string[] = []
    const command = adoptCommand(() => createQuietDeps(config), {
      print: (each) => lines.push(each),
      ask: async () => undefined,
    })
    await command.parseAsync(flags, { from: 'user' })
    return lines
  }
  return { superuserUrl, config, run }
}

it.each([
  [
    'LATIN1',
    'encoding   LATIN1: what has a character that this encoding lacks is answered with 500, as at the old service; auth import takes the users into a database in UTF8',
  ],
  [
    'SQL_ASCII',
    'encoding   SQL_ASCII: who has bytes that are no UTF-8, in user_metadata for one, gets 500, as do lists with such a user; correct these rows',
  ],
])('adopts a database in %s, and --check says what its encoding means', async (encoding, line) => {
  const { config, run } = await restoreIn(encoding)
  expect((await run('--check')).filter((each) => each.startsWith('encoding'))).toEqual([line])
  expect((await run()).at(-2)).toMatch(/^adopted migration /)
  expect((await migrateAtStart(adoptOptions(config))).migrations).toEqual([])
})

it('names the rows of a database in SQL_ASCII whose bytes are no UTF-8, and changes nothing', async () => {
  const { superuserUrl, run } = await restoreIn('SQL_ASCII')
  const spoil = (table: string, column: string, bytes: string) =>
    runSql(
      superuserUrl,
      `UPDATE auth.${table} SET ${column} = convert_from('${bytes}', 'SQL_ASCII') WHERE id = (SELECT id FROM auth.${table} ORDER BY id LIMIT 1)
       RETURNING format('the row %s of auth.${table} has bytes that are no UTF-8: correct it', id) AS line`,
    )
  await spoil('custom_oauth_providers', 'name', '\\xc3a9e282acf09f9880')
  const lines = [
    ...(await spoil('refresh_tokens', 'token', '\\xeda080')),
    ...(await spoil('custom_oauth_providers', 'name', '\\x61ff')),
  ].map(({ line }) => line)
  expect(lines).toHaveLength(2)
  for (const flags of [['--check'], ['--prepare'], []])
    await expect(run(...flags)).rejects.toThrow(new Error(lines.join('\n')))
  expect(await runSql(superuserUrl, `SELECT to_regnamespace('auth_before_trestle') AS kept`)).toEqual([{ kept: null }])
})
