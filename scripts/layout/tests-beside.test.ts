import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { testsBeside } from './tests-beside.ts'

const route = 'services/auth/src/routes/carts.ts'
const controller = 'services/inventory/src/controllers/carts/items.ts'

it('refuses a route and a controller without a test beside them', async () => {
  expect(await problemsOf(testsBeside, { [route]: '', [controller]: '' })).toEqual([
    `${route} has no test beside it: write services/auth/src/routes/carts.test.ts`,
    `${controller} has no test beside it: write services/inventory/src/controllers/carts/items.test.ts`,
  ])
})

it('refuses a route whose test is elsewhere', async () => {
  const files = { [route]: '', 'services/auth/test/carts.test.ts': '' }
  expect(await problemsOf(testsBeside, files)).toHaveLength(1)
})

it('allows a route whose test beside it is a long one', async () => {
  expect(await problemsOf(testsBeside, { [route]: '', 'services/auth/src/routes/carts.long.test.ts': '' })).toEqual([])
})

it('allows a route with a test beside it, and files of other folders without one', async () => {
  const files = { [route]: '', 'services/auth/src/routes/carts.test.ts': '', 'services/auth/src/carts/cart.ts': '' }
  expect(await problemsOf(testsBeside, files)).toEqual([])
})
