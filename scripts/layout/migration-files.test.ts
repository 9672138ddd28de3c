import { expect, it } from 'vitest'
import { migrationFiles } from './migration-files.ts'
import { problemsOf } from './test/shop-tree.ts'

const second = 'migrations/shop/0002-create-carts.ts'
const list = (keys: readonly string[]) => ({
  'migrations/shop.ts': `export const shopMigrations = { ${keys.map((key) => `'${key}': 1`).join(', ')} }\n`,
})

it('refuses a file that is not listed', async () => {
  expect(await problemsOf(migrationFiles, { [second]: 'export const a = 1\n' })).toEqual([
    'migrations/shop.ts does not list 0002-create-carts',
  ])
})

it('refuses a list in another order, or with a file that is not there', async () => {
  const message = 'migrations/shop.ts lists other files, or another order'
  const swapped = list(['0002-create-carts', '0001-create-items'])
  expect(await problemsOf(migrationFiles, { ...swapped, [second]: 'export const a = 1\n' })).toEqual([message])
  expect(await problemsOf(migrationFiles, list(['0001-create-items', '0002-create-carts']))).toEqual([message])
})

it('refuses a number that repeats', async () => {
  const files = {
    ...list(['0001-create-items', '0001-create-more']),
    'migrations/shop/0001-create-more.ts': 'export {}\n',
  }
  expect(await problemsOf(migrationFiles, files)).toEqual([
    'migrations/shop/0001-create-more.ts number 0001 is taken by 0001-create-items',
  ])
})

const name31 = 'thirty_one_characters_are_more_'

it.each([
  [`names.id('${name31.slice(1)}')`, undefined],
  [`sql\`CONSTRAINT ${name31.slice(1)} CHECK (a)\``, undefined],
  [`names.other('${name31}')`, undefined],
  ["names.local('users_email_change_confirm_status_check')", undefined],
  [`names.id('${name31}')`, name31],
  [`names.local('${name31}')`, name31],
  [`db.schema.createTable('${name31}')`, name31],
  [`db.schema.createIndex('${name31}')`, name31],
  [`db.schema.createView('${name31}')`, name31],
  [`db.schema.createType('${name31}')`, name31],
  [`table.addPrimaryKeyConstraint('${name31}', ['a'])`, name31],
  [`table.addUniqueConstraint('${name31}', ['a'])`, name31],
  [`table.addForeignKeyConstraint('${name31}', ['a'], 'b', ['a'])`, name31],
  [`table.addCheckConstraint('${name31}', a)`, name31],
  [`sql\`CONSTRAINT ${name31} CHECK (a)\``, name31],
  [`sql\`constraint ${name31} check (a)\``, name31],
])('judges the length of %s', async (text, name) => {
  const path = 'migrations/shop/0001-create-items.ts'
  const problems = await problemsOf(migrationFiles, {
    [path]: `export const a = (names, db, table, sql) =>\n  ${text}\n`,
  })
  const message = 'has 31 characters; a name in the database has at most 30'
  expect(problems).toEqual(name === undefined ? [] : [`${path}:2 ${name} ${message}`])
})
