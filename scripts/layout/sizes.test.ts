import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { sizes } from './sizes.ts'

const lines = (count: number) => '// a\n\n'.repeat(count / 2)
const [item, test] = ['services/shop/src/items/item.ts', 'services/shop/src/items/item.test.ts']
const script = 'services/shop/src/pages/assets/pay.js'

it('counts all lines of a file, blank ones and comments too', async () => {
  expect(await problemsOf(sizes, { [item]: lines(400), [test]: lines(500) })).toEqual([])
  expect(await problemsOf(sizes, { [item]: lines(402), [script]: lines(402), [test]: lines(502) })).toEqual([
    `${test} has 502 lines, more than 500`,
    `${item} has 402 lines, more than 400`,
    `${script} has 402 lines, more than 400`,
  ])
})

it.each([
  ['function sell() {\n', '}\n'],
  ['const sell = () => {\n', '}\n'],
  ['const sell = function () {\n', '}\n'],
])('counts all lines of %j', async (start, end) => {
  expect(await problemsOf(sizes, { [item]: `\n${start}${lines(58)}${end}` })).toEqual([])
  expect(await problemsOf(sizes, { [item]: `\n${start}${lines(60)}${end}` })).toEqual([
    `${item}:2 a function has 62 lines, more than 60`,
  ])
  expect(await problemsOf(sizes, { [test]: `${start}${lines(60)}${end}` })).toEqual([])
})

it('counts the lines of functions that several tests share', async () => {
  const support = 'services/shop/test/shop-app.ts'
  expect(await problemsOf(sizes, { [support]: `function start() {\n${lines(60)}}\n` })).toEqual([
    `${support}:1 a function has 62 lines, more than 60`,
  ])
})

it('counts the routes of test merchants as production code', async () => {
  const route = 'services/shop/src/routes/test/clock.ts'
  expect(await problemsOf(sizes, { [route]: lines(402), 'services/shop/test/clock.ts': lines(252) })).toEqual([
    `${route} has 402 lines, more than 400`,
  ])
})

describe('a function of SQL', () => {
  const folder = 'migrations/shop/functions'
  const sell = `${folder}/sell.sql`
  const fragment = `${folder}/fragments/price.sql`

  it('has at most 150 lines', async () => {
    expect(await problemsOf(sizes, { [sell]: lines(150) })).toEqual([])
    expect(await problemsOf(sizes, { [sell]: lines(152) })).toEqual([`${sell} has 152 lines, more than 150`])
  })

  it('has at most 150 lines with its fragments, without their first comments', async () => {
    const including = `${lines(100)}{{include:price.sql}}\n`
    const header = '-- The price.\n'.repeat(60)
    const code = 'SELECT 1;\n'
    expect(await problemsOf(sizes, { [sell]: including, [fragment]: `${header}${code.repeat(50)}` })).toEqual([])
    expect(await problemsOf(sizes, { [sell]: including, [fragment]: `${header}${code.repeat(51)}` })).toEqual([
      `${sell} has 151 lines, more than 150`,
    ])
  })

  it('may be longer with a reason in the list, which is refused once the function is short', async () => {
    const listed = 'migrations/auth/functions/refresh_session.sql'
    expect(await problemsOf(sizes, { [listed]: lines(152) })).toEqual([])
    expect(await problemsOf(sizes, { [listed]: lines(150) })).toEqual([
      `${listed} is listed as a longer function, which it is not`,
    ])
  })
})
