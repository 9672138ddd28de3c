import { expect, it } from 'vitest'
import { migrationFiles } from './migration-files.ts'
import { problemsOf } from './shop-tree.ts'

const migration = '// Why.\nexport const a = 1\n'
const second = 'migrations/shop/0002-create-carts.ts'
const load = (key: string) => `inFile(() => import('./shop/${key}.ts'))`
const list = (keys: readonly string[]) => ({
  'migrations/shop.ts': `export const shopMigrations = {\n${keys.map((key) => `  '${key}': ${load(key)},\n`).join('')}}\n`,
})

it('accepts a list of all files', async () => {
  expect(await problemsOf(migrationFiles)).toEqual([])
  const files = { ...list(['0001-create-items', '0002-create-carts']), [second]: migration }
  expect(await problemsOf(migrationFiles, files)).toEqual([])
})

it.each([
  ['another file', load('0001-create-items'), './shop/0001-create-items.ts'],
  ['the file of another service', "inFile(() => import('./bank/0002-create-carts.ts'))", './bank/0002-create-carts.ts'],
  [
    'two files',
    `[${load('0002-create-carts')}, ${load('0001-create-items')}]`,
    './shop/0002-create-carts.ts, ./shop/0001-create-items.ts',
  ],
  ['no file', 'createCarts', 'nothing'],
])('refuses a name that stands for %s', async (_what, value, imported) => {
  const text = list(['0001-create-items', '0002-create-carts'])['migrations/shop.ts']
  const files = {
    'migrations/shop.ts': text.replace(load('0002-create-carts'), value),
    [second]: migration,
  }
  expect(await problemsOf(migrationFiles, files)).toEqual([
    `migrations/shop.ts:3 lists 0002-create-carts, and imports ${imported}`,
  ])
})

it.each([
  ['0001-create-items', '0003-create-carts', '0003', '0002'],
  ['0002-create-items', '0003-create-carts', '0002', '0001'],
])('refuses a gap between numbers: %s and %s', async (first, last, number, next) => {
  const paths = [first, last].map((name) => `migrations/shop/${name}.ts`)
  const files = {
    ...list([first, last]),
    'migrations/shop/0001-create-items.ts': undefined,
    ...Object.fromEntries(paths.map((path) => [path, migration])),
  }
  const refused = paths.find((path) => path.includes(number))
  expect(await problemsOf(migrationFiles, files)).toEqual([
    `${refused} number ${number} leaves a gap: the next is ${next}`,
  ])
})

it('refuses a file that is not listed', async () => {
  expect(await problemsOf(migrationFiles, { [second]: migration })).toEqual([
    'migrations/shop.ts does not list 0002-create-carts',
  ])
})

it('refuses a list in another order, or with a file that is not there', async () => {
  const message = 'migrations/shop.ts lists other files, or another order'
  const swapped = list(['0002-create-carts', '0001-create-items'])
  expect(await problemsOf(migrationFiles, { ...swapped, [second]: migration })).toEqual([message])
  expect(await problemsOf(migrationFiles, list(['0001-create-items', '0002-create-carts']))).toEqual([message])
})

it('refuses a number that repeats', async () => {
  const files = {
    ...list(['0001-create-items', '0001-create-more']),
    'migrations/shop/0001-create-more.ts': migration,
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
  [`sql\`CONSTRAINT ${name31} CHECK (a)\``, name31],
  [`sql\`constraint ${name31} check (a)\``, name31],
])('finds in %s the name that is too long: %s', async (text, name) => {
  const path = 'migrations/shop/0001-create-items.ts'
  const problems = await problemsOf(migrationFiles, {
    [path]: `// Why.\nexport const a = (names, sql) => ${text}\n`,
  })
  const message = 'has 31 characters; a name in the database has at most 30'
  expect(problems).toEqual(name === undefined ? [] : [`${path}:2 ${name} ${message}`])
})

it.each(['', "import { sql } from 'kysely'\n", '/** Why. */\n'])(
  'refuses a migration that begins with %j',
  async (head) => {
    const path = 'migrations/shop/0001-create-items.ts'
    expect(await problemsOf(migrationFiles, { [path]: `${head}export const a = 1\n` })).toEqual([
      `${path} does not begin with a comment that says why`,
    ])
  },
)
