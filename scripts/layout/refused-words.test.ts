import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ORDINARY, refusedWords } from './refused-words.ts'
import { problemsOf } from './shop-tree.ts'

const GLOSSARY = `# Glossary

## All services

| Term | Meaning | Not |
|---|---|---|
| drain | Finish what is open | graceful stop |
| page | A part of a list | batch |

## shop

| Term | Meaning | Not |
|---|---|---|
| sign in | Prove who one is | log in, login |
| session | What begins at a sign-in | login |
| capture | Take money | seize, operation (that is any of three) |
`
const item = 'services/shop/src/items/item.ts'

async function judge(path: string, text: string): Promise<readonly string[]> {
  return problemsOf(refusedWords, { 'docs/glossary.md': GLOSSARY, [path]: `${text}\n` })
}

const refused = (place: string, word: string, terms: string) =>
  `${place} says "${word}", which the glossary refuses: say ${terms}`

const SIGN_IN = '"sign in" or "session"'

it.each([
  [item, '// They log in here.', 'log in', '"sign in"'],
  [item, '// It seizes an amount.', 'seizes', '"capture"'],
  [item, '/** A log-in. */', 'log in', '"sign in"'],
  [item, '/** The login. */', 'login', SIGN_IN],
  [item, 'function findLoginOf() {}', 'login', SIGN_IN],
  [item, 'const LOGINS_MAX = 1', 'logins', SIGN_IN],
  [item, 'interface LoginRow {}', 'login', SIGN_IN],
  [item, 'type Login = string', 'login', SIGN_IN],
  [item, 'interface Row { readonly lastLoginAt: Date }', 'login', SIGN_IN],
  [item, 'function store(newLogin: string) {}', 'login', SIGN_IN],
  [item, 'const store = (newLogin: string) => {}', 'login', SIGN_IN],
  [item, 'const store = { put: function (newLogin: string) {} }', 'login', SIGN_IN],
  ['services/shop/test/a.test.ts', "it('200: lists logins', f)", 'logins', SIGN_IN],
  ['services/shop/test/a.test.ts', "describe.each(cases)('a login of %s', f)", 'login', SIGN_IN],
  ['services/shop/test/a.test.ts', '// A login.', 'login', SIGN_IN],
  ['services/shop/test/a.test.ts', 'const newLogin = await signIn()', 'login', SIGN_IN],
  ['services/shop/test/shop.ts', 'const newLogin = () => {}', 'login', SIGN_IN],
  ['migrations/shop/functions/a.sql', '-- A login.', 'login', SIGN_IN],
  ['docs/reference/shop.md', 'A login.', 'login', SIGN_IN],
  ['docs/architecture.md', 'A graceful stop.', 'graceful stop', '"drain"'],
  ['docs/quick-start/a.md', '# Hold stock', 'hold stock', '"reserve"'],
  ['README.md', 'Hold two for a buyer.', 'hold two for a buyer', '"reserve"'],
  [item, '// Stock that is held.', 'stock that is held', '"reserved"'],
  [item, '// What reservations hold.', 'reservations hold', '"keep"'],
])('refuses in %s: %s', async (path, text, word, terms) => {
  expect(await judge(path, text)).toEqual([refused(`${path}:1`, word, terms)])
})

it('names the line of a comment', async () => {
  expect(await judge(item, '/**\n * A rule.\n * They login.\n */')).toEqual([refused(`${item}:3`, 'login', SIGN_IN)])
})

it.each([
  ['another section is about', 'services/bank/src/a.ts', '// A login.'],
  ['has another meaning too', item, '// An operation, in a batch.'],
  ['is ordinary beside another noun', item, '// It holds the lock of an order.'],
  ['is code', item, '/** The path `/login` and the name `login`. */'],
  ['is part of another word', item, '// Blogins and /login.'],
  ['stands in a code block', 'services/shop/README.md', '# Shop\n\n```sh\ncurl /login # login\n```'],
  ['is a name of snake case', item, 'interface Row { readonly last_login_at: Date }'],
  ['is only used', item, 'client.login()'],
  ['is the name of a role of PostgreSQL', item, 'function loginOf() {}'],
  ['is told of a rejected option', 'docs/decisions/0001-a.md', 'A graceful stop.'],
  ['is in the glossary', 'docs/a.md', ''],
])('accepts a word that %s', async (_why, path, text) => {
  expect(await judge(path, text)).toEqual([])
})

it('leaves alone only words that the glossary has in its column', () => {
  const glossary = readFileSync(join(import.meta.dirname, '../../docs/glossary.md'), 'utf8')
  const columns = [...glossary.matchAll(/\| ([^|]+) \|$/gm)].map(([, column = '']) =>
    column.replaceAll(/\([^)]*\)/g, ''),
  )
  const refused = new Set(columns.flatMap((column) => column.split(',').map((word) => word.trim())))
  expect([...ORDINARY].filter((word) => !refused.has(word))).toEqual([])
})
