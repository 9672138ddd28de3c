import { expect, it } from 'vitest'
import { commentWidths } from './comment-widths.ts'
import { problemsOf } from './shop-tree.ts'

const cart = 'services/shop/src/carts/cart.ts'
const sql = 'migrations/shop/functions/sell.sql'
const fitting = 'x'.repeat(127)
const long = 'x'.repeat(128)
const message = 'a comment has 131 columns, more than 130: wrap it at 110'

it.each([
  ['a line', cart, `const a = 1\n// ${long}\n`, 2],
  ['a line of a block', cart, `/**\n * Sells.\n * ${long}\n */\n`, 3],
  ['a line behind code', cart, `const a = 1 // ${'x'.repeat(116)}\n`, 1],
  ['a line of a SQL function', sql, `-- ${long}\nSELECT 1\n`, 1],
])('refuses %s of more than 130 columns', async (_, path, text, line) => {
  expect(await problemsOf(commentWidths, { [path]: text })).toEqual([`${path}:${line} ${message}`])
})

it('allows 130 columns, and longer lines of code and of texts', async () => {
  const text = `// ${fitting}\nconst text = '${long}'\nconst url = 'https://${long}'\n`
  expect(await problemsOf(commentWidths, { [cart]: text, [sql]: `-- ${fitting}\nSELECT '${long}'\n` })).toEqual([])
})

it('leaves tests and documents alone', async () => {
  const files = { 'services/shop/src/carts/cart.test.ts': `// ${long}\n`, 'docs/carts.md': `${long} // ${long}\n` }
  expect(await problemsOf(commentWidths, files)).toEqual([])
})
