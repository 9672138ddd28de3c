import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { useCaseHttp } from './use-case-http.ts'

const useCase = 'services/shop/src/use-cases/sell.ts'

it.each([
  ['export const sell = (request) => request.headers', 'headers'],
  ['interface SellInput {\n  readonly authorization: string\n}', 'authorization'],
  ['interface SoldCookies {}', 'Cookies'],
  ["export const name = 'set-cookie'", 'set-cookie'],
  ["export const name = 'X-Total-Count'", 'X-Total-Count'],
  ["export const type = 'text/csv'", 'text/csv'],
  ['/** The header `Link`. */', 'header'],
  ['/** The audience of X-JWT-AUD. */', 'X-JWT'],
  ['// Otherwise the next 429 would tell.', '429'],
  ['/** Deletes the cookie. */', 'cookie'],
])('refuses %j, which says %s', async (text, found) => {
  const line = text.includes('\n') ? 2 : 1
  expect(await problemsOf(useCaseHttp, { [useCase]: `${text}\n` })).toEqual([
    `${useCase}:${line} a use case knows no HTTP: leave "${found}" to the route, and take or return a plain value`,
  ])
})

it.each([
  'export const sell = (form) => form.header',
  "export const seal = (vault) => vault.open('authorization')",
  'export type Sold = AuthorizationOutcome',
  '/** @throws headerMissing for a file without names, keySpent when the Idempotency-Key was used */',
  'const PAGE_ROWS = 500',
])('allows %s', async (text) => {
  expect(await problemsOf(useCaseHttp, { [useCase]: `${text}\n` })).toEqual([])
})

it('leaves routes, modules and tests alone', async () => {
  const text = '/** The header `Link`. */\nexport const headers = {}\n'
  const paths = ['routes/sales.ts', 'sales/sale.ts', 'use-cases/sell.test.ts']
  const files = Object.fromEntries(paths.map((path) => [`services/shop/src/${path}`, text]))
  expect(await problemsOf(useCaseHttp, files)).toEqual([])
})
