import { expect, it } from 'vitest'
import { functionFiles } from './function-files.ts'
import { type Files, problemsOf, shop } from './shop-tree.ts'

const folder = 'migrations/shop/functions'
const list = {
  'migrations/shop.ts': `${shop['migrations/shop.ts']}\nexport const shopFunctions: FunctionFiles = functionsIn(new URL('./shop/functions/', import.meta.url))\n`,
}
const buy = `${folder}/buy.sql`
const sound =
  "-- CREATE FUNCTION in a comment.\nCREATE OR REPLACE FUNCTION {{buy}}(p {{items}})\nRETURNS text AS $$\n  SELECT '{{{1}}}', '{{1,2}}', '{{local:items_pkey}}', '{{prefix}}'\n$$;\n"

async function judge(files: Files): Promise<readonly string[]> {
  return problemsOf(functionFiles, { ...list, [buy]: sound, ...files })
}

it('accepts a function with the name of its file, and a service without functions', async () => {
  expect(await judge({})).toEqual([])
  expect(await problemsOf(functionFiles)).toEqual([])
})

it.each([
  ['CREATE OR REPLACE FUNCTION {{sell}}()', 'CREATE OR REPLACE FUNCTION {{sell}}'],
  ['CREATE OR REPLACE FUNCTION buy()', 'CREATE OR REPLACE FUNCTION buy'],
  ['CREATE OR REPLACE FUNCTION {{local:buy}}()', 'CREATE OR REPLACE FUNCTION {{local:buy}}'],
  ['CREATE FUNCTION {{buy}}()', 'CREATE FUNCTION {{buy}}'],
  ['CREATE OR\nREPLACE PROCEDURE {{buy}}()', 'CREATE OR REPLACE PROCEDURE {{buy}}'],
])('refuses %j', async (text, said) => {
  expect(await judge({ [buy]: `${text} AS $$ $$;\n` })).toEqual([
    `${buy}:1 says ${said}: CREATE OR REPLACE FUNCTION {{buy}}`,
  ])
})

it('refuses a file without a function, or with two', async () => {
  expect(await judge({ [buy]: '-- CREATE OR REPLACE FUNCTION {{buy}}()\nSELECT 1;\n' })).toEqual([
    `${buy} creates 0 functions; a file holds one`,
  ])
  expect(await judge({ [buy]: `${sound}${sound}` })).toEqual([`${buy} creates 2 functions; a file holds one`])
})

it.each([
  ['a statement after it', `${sound}DROP TABLE {{items}};\n`],
  ['a statement before it', `DROP TABLE {{items}};\n${sound}`],
  ['a block after it', `${sound}DO $$ BEGIN END $$;\n`],
  ['a block after a body without dollars', 'CREATE OR REPLACE FUNCTION {{buy}}() RETURN 1; DO $$ $$;\n'],
  ['a clause after its body', sound.replace('$$;', () => '$$ LANGUAGE sql;')],
  ['no semicolon', sound.replace(/;\n$/, '\n')],
  ['another quote', sound.replaceAll('$$', '$body$')],
])('refuses a file with %s', async (_what, text) => {
  expect(await judge({ [buy]: text })).toEqual([
    `${buy} is something else than one CREATE OR REPLACE FUNCTION that ends in $$;`,
  ])
})

it('accepts a comment after the body, and what it says', async () => {
  expect(await judge({ [buy]: `${sound}-- DROP TABLE {{items}}; costs $$\n` })).toEqual([])
})

it('accepts a name of 30 characters, and refuses one of 31', async () => {
  const long = 'a'.repeat(30)
  const tooLong = 'a'.repeat(31)
  const fileOf = (name: string): Files => ({ [`${folder}/${name}.sql`]: sound.replace('{{buy}}', `{{${name}}}`) })
  expect(await judge({ ...fileOf(long), ...fileOf(tooLong) })).toEqual([
    `${folder}/${tooLong}.sql has a name of 31 characters; at most 30`,
  ])
})

it.each(['{{Items}}', '{{ items }}', '{{items}', '{{local:}}', '{{table:items}}', '{{include:items}}', '{{items.id}}'])(
  'refuses the token %s',
  async (token) => {
    const problem = `${token} is none of {{name}}, {{local:name}} and {{include:name.sql}}`
    expect(await judge({ [buy]: `${sound}-- ${token}\n` })).toEqual([`${buy}:6 ${problem}`])
  },
)

const fragment = `${folder}/fragments/actor.sql`
const include = (name: string) => sound.replace('$$;', () => `{{include:${name}.sql}}\n$$;`)

it('accepts a fragment that a function or another fragment includes', async () => {
  expect(await judge({ [buy]: include('actor'), [fragment]: 'SELECT 1\n' })).toEqual([])
  const between = `${folder}/fragments/between.sql`
  expect(await judge({ [buy]: include('between'), [between]: '{{include:actor.sql}}', [fragment]: '1\n' })).toEqual([])
})

it('accepts an include that gives parameters, and a fragment that hands them on', async () => {
  const files = {
    [buy]: sound.replace('$$;', () => '{{include:between.sql price => p.price,\n  name => p.name}}\n$$;'),
    [`${folder}/fragments/between.sql`]: '{{:name}} {{include:actor.sql price => {{:price}}}}\n',
    [fragment]: '{{:price}}\n',
  }
  expect(await judge(files)).toEqual([])
})

it('refuses a parameter in a function', async () => {
  expect(await judge({ [buy]: sound.replace('$$;', () => '{{:price}}\n$$;') })).toEqual([
    `${buy} uses {{:price}}, which only a fragment has`,
  ])
})

it('refuses a fragment that is not there, or not used, or creates a function', async () => {
  expect(await judge({ [buy]: include('actor') })).toEqual([`${buy}:5 includes actor.sql, which is not there`])
  expect(await judge({ [fragment]: 'SELECT 1\n' })).toEqual([`${fragment} is included in no function`])
  expect(await judge({ [buy]: include('actor'), [fragment]: '\nCREATE FUNCTION {{actor}}() AS $$ $$;\n' })).toEqual([
    `${fragment}:2 creates a function; a fragment is included in one`,
  ])
})

it('refuses a malformed token in a fragment too', async () => {
  expect(await judge({ [buy]: include('actor'), [fragment]: '{{Actor}}\n' })).toEqual([
    `${fragment}:1 {{Actor}} is none of {{name}}, {{local:name}} and {{include:name.sql}}`,
  ])
})

it.each(['migrations/shop/buy.sql', 'migrations/buy.sql', `${folder}/carts/buy.sql`])(
  'refuses %s, which nothing reads',
  async (path) => {
    expect(await judge({ [path]: sound })).toEqual([`${path} is in no folder of functions`])
  },
)

it('refuses a function that a numbered migration creates too', async () => {
  const path = 'migrations/shop/0001-create-items.ts'
  const text = (name: string) =>
    `export const a = (names, sql) => sql\`\n  CREATE OR REPLACE FUNCTION \${names.id('${name}')}() RETURNS void\`\n`
  expect(await judge({ [path]: text('buy') })).toEqual([`${path}:2 names the function buy, which has a file`])
  expect(await judge({ [path]: text('guard_items') })).toEqual([])
  expect(await judge({ 'migrations/bank/0001-create-items.ts': text('buy') })).toEqual([])
})

it.each([
  ['nothing', ''],
  ['another name', list['migrations/shop.ts'].replace('shopFunctions', 'functions')],
  ['another folder', list['migrations/shop.ts'].replace('./shop/functions/', './bank/functions/')],
  ['nothing', list['migrations/shop.ts'].replace('export const shopF', 'const shopF')],
])('refuses a list that exports %s', async (_what, text) => {
  expect(await judge({ 'migrations/shop.ts': text })).toEqual([
    "migrations/shop.ts exports no shopFunctions, which are functionsIn(new URL('./shop/functions/', import.meta.url))",
  ])
})
