import type { Page } from 'playwright-core'

/** A page of the console, or a state of it. */
export interface Screen {
  readonly name: string
  /** Brings the page into its state. @param url the address of the console, without a slash at the end */
  readonly open: (page: Page, url: string) => Promise<unknown>
  /** Which console shows it, and to whom. Undefined: that of the stack, to an admin. */
  readonly at?: ConsoleName
}

/** `stranger`: nobody is signed in. `silent`: a console whose inventory does not answer. `strict`: one that asks for a second factor. */
export type ConsoleName = 'operator' | 'stranger' | 'silent' | 'strict'

const path = (name: string, address: string, at?: ConsoleName): Screen => ({
  name,
  open: (page, url) => page.goto(url + address),
  ...(at === undefined ? {} : { at }),
})

/** What the first row of a list leads to, such as a user. */
const first = (name: string, list: string, then = ''): Screen => ({
  name,
  open: async (page, url) => {
    await page.goto(url + list)
    const href = await page.locator('main a.main-link').first().getAttribute('href')
    await page.goto(url + href + then)
  },
})

/** Pages of a stack that has nothing yet. */
export const EMPTY_SCREENS: readonly Screen[] = [
  path('empty-overview', '/'),
  path('empty-transactions', '/transactions'),
  path('empty-merchants', '/merchants'),
  path('empty-payouts', '/payouts'),
  path('empty-deliveries', '/deliveries'),
  path('empty-products', '/products'),
  path('empty-stock', '/stock'),
  path('empty-locations', '/locations'),
]

/** Pages of a stack with example data. */
export const SCREENS: readonly Screen[] = [
  path('sign-in', '/sign-in', 'stranger'),
  path('sign-in-ended', '/sign-in?ended=1', 'stranger'),
  path('sign-in-link', '/sign-in?token_hash=0123456789abcdef0123456789abcdef', 'stranger'),
  {
    name: 'sign-in-refused',
    at: 'stranger',
    open: async (page, url) => {
      await page.goto(`${url}/sign-in`)
      await page.getByLabel('Email').fill('nobody@example.com')
      await page.getByLabel('Password').fill('not the password')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  path('factor-begin', '/', 'strict'),
  {
    name: 'factor-code',
    at: 'strict',
    open: async (page, url) => {
      await page.goto(url)
      await page.getByRole('button', { name: 'Show the QR code' }).click()
      await page.locator('.qr').waitFor()
    },
  },
  path('overview', '/?test=true'),
  path('overview-live', '/'),
  path('overview-silent', '/', 'silent'),
  path('products-silent', '/products', 'silent'),
  path('search', '/search?q=n'),
  path('search-none', '/search?q=zebra'),
  path('search-blank', '/search'),
  path('audit', '/audit'),
  path('audit-payments', '/audit/payments'),
  path('audit-inventory', '/audit/inventory'),
  path('users', '/users'),
  path('users-none', '/users?search=zebra'),
  first('user', '/users?search=anton'),
  first('user-banned', '/users?search=viktor'),
  first('user-long', '/users?search=augusta'),
  first('user-ban', '/users?search=clara', '/ban'),
  first('user-change', '/users?search=clara', '/change'),
  first('user-delete', '/users?search=clara', '/delete'),
  path('user-invite', '/users/invite'),
  path('user-new', '/users/new'),
  path('messages', '/messages'),
  path('settings', '/settings'),
  path('signing-keys', '/signing-keys'),
  path('signing-key-new', '/signing-keys/new'),
  path('transactions', '/transactions'),
  path('transactions-none', '/transactions?search=9999'),
  first('transaction', '/transactions'),
  first('transaction-disputed', '/disputes'),
  first('transaction-refused', '/transactions?successful=false'),
  first('transaction-refund', '/transactions?search=4242', '/refund'),
  {
    name: 'transaction-refund-refused',
    open: async (page, url) => {
      await first('', '/transactions?search=4242', '/refund').open(page, url)
      await page.locator('input[name="amount"]').fill('99999.99')
      await page.locator('.question button[type="submit"]').click()
      await page.getByRole('alert').waitFor()
    },
  },
  path('disputes', '/disputes'),
  path('frauds', '/frauds'),
  path('payouts', '/payouts'),
  path('payout-run', '/payouts/run'),
  path('batches', '/payouts/batches'),
  path('exceptions', '/exceptions'),
  path('attempts', '/attempts'),
  path('merchants', '/merchants'),
  first('merchant', '/merchants?search=nordhavn'),
  first('merchant-long', '/merchants?search=det'),
  path('apps', '/apps'),
  path('deliveries', '/deliveries'),
  first('delivery', '/deliveries'),
  path('jobs', '/jobs'),
  path('jobs-waiting', '/jobs?state=waiting'),
  path('registration-close', '/registration/close'),
  path('products', '/products'),
  path('products-none', '/products?search=zebra'),
  first('product', '/products'),
  first('product-edit', '/products', '/edit'),
  first('product-edit-json', '/products', '/edit?as=json'),
  first('product-history', '/products', '/history'),
  first('product-deletion', '/products', '/deletion'),
  path('product-new', '/products/new'),
  path('stock', '/stock'),
  path('stock-low', '/stock/low?below=30'),
  path('movements', '/movements'),
  path('movement-new', '/movements/new'),
  path('movement-transfer', '/movements/new?type=transfer'),
  path('reservations', '/reservations'),
  path('locations', '/locations'),
  path('location-new', '/locations/new'),
  path('not-found', '/nothing-is-here'),
  path('user-missing', '/users/00000000-0000-4000-8000-000000000000'),
]
