import type { Locator, Page } from 'playwright-core'

export interface Screen {
  readonly name: string
  /** Brings the page into its state. @param url the address of the console without a slash at the end */
  readonly open: (page: Page, url: string) => Promise<unknown>
  /** `undefined` for the stack's console and an admin. */
  readonly at?: ConsoleName
}

/** `stranger`: not signed in. `silent`: inventory does not answer. `strict`: the console requires a second factor. */
export type ConsoleName = 'operator' | 'stranger' | 'silent' | 'strict'

const path = (name: string, address: string, at?: ConsoleName): Screen => ({
  name,
  open: (page, url) => page.goto(url + address),
  ...(at === undefined ? {} : { at }),
})

/** Opens the object to which the first row of a list links, such as a user. */
const first = (name: string, list: string, then = ''): Screen => ({
  name,
  open: async (page, url) => {
    await page.goto(url + list)
    const links = page.locator('main a.main-link')
    if ((await links.count()) === 0) throw new Error(`nothing is at ${list}`)
    const href = await links.first().getAttribute('href')
    await page.goto(url + href + then)
  },
})

/** Presses a form button with the keyboard, because the console ignores clicks soon after a page appears. */
const press = (button: Locator) => button.press('Enter')

/** The list with the demo's fully captured payment. */
const CAPTURED = '/transactions?search=36.00'

/** Refunds the first refundable payment with a refused amount. @param findRefusal finds the shown refusal */
const refusedRefund = (name: string, amount: string, findRefusal: (page: Page) => Locator): Screen => ({
  name,
  open: async (page, url) => {
    await first('', CAPTURED, '/refund').open(page, url)
    await page.locator('input[name="amount"]').fill(amount)
    await press(page.locator('.question button[type="submit"]'))
    await findRefusal(page).waitFor()
  },
})

/** Sends a file of products as a dry run. @returns when the page of its import is open */
async function sendProducts(page: Page, url: string, { name, text }: { readonly name: string; readonly text: string }) {
  await page.goto(`${url}/imports`)
  await page.getByLabel('Only try, and store nothing').press('Space')
  await page.locator('#file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  await press(page.getByRole('button', { name: 'Import' }))
  await page.waitForURL(/\/imports\/\d+/)
}

/** A new SKU, a repeated SKU, and one that is too long. */
const FAULTY_PRODUCTS = `sku,attributes.name\nNEW-1,Kettle\nNEW-1,Kettle\n${'SKU-'.repeat(100)},Pan\n`
/** So many that the import still runs while its page is checked. */
const MANY_PRODUCTS = `sku,attributes.name\n${Array.from({ length: 50_000 }, (_, at) => `MANY-${at},Mug`).join('\n')}\n`

export const EMPTY_SCREENS: readonly Screen[] = [
  path('empty-overview', '/'),
  ...[
    '/transactions',
    '/disputes',
    '/frauds',
    '/payouts',
    '/payouts/batches',
    '/exceptions',
    '/attempts',
    '/merchants',
  ],
  ...['/apps', '/deliveries', '/jobs', '/messages', '/audit/payments', '/audit/inventory', '/products', '/stock'],
  ...['/stock/low', '/movements', '/reservations', '/locations', '/imports'],
].map((screen) => (typeof screen === 'string' ? path(`empty${screen.replaceAll('/', '-')}`, screen) : screen))

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
      await press(page.getByRole('button', { name: 'Sign in' }))
      await page.getByRole('alert').waitFor()
    },
  },
  path('factor-begin', '/', 'strict'),
  {
    name: 'factor-code',
    at: 'strict',
    open: async (page, url) => {
      await page.goto(url)
      await press(page.getByRole('button', { name: 'Show the QR code' }))
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
  first('user-secure', '/users?search=clara', '/secure'),
  path('user-invite', '/users/invite'),
  path('user-new', '/users/new'),
  path('messages', '/messages'),
  path('settings', '/settings'),
  path('signing-keys', '/signing-keys'),
  path('signing-key-new', '/signing-keys/new'),
  path('transactions', '/transactions'),
  path('transactions-none', '/transactions?search=9999'),
  first('transaction', '/transactions'),
  {
    name: 'transaction-disputed',
    open: async (page, url) => {
      await first('', '/disputes').open(page, url)
      const href = await page.locator('main .facts a[href^="/transactions/"]').getAttribute('href')
      await page.goto(url + href)
    },
  },
  first('transaction-refused', '/transactions?successful=false'),
  first('transaction-refund', CAPTURED, '/refund'),
  refusedRefund('transaction-refund-refused', 'much', (page) => page.getByRole('alert')),
  // The script refuses this amount before it is sent.
  refusedRefund('transaction-refund-above', '99999.99', (page) => page.locator('input[name="amount"]:invalid')),
  path('disputes', '/disputes'),
  first('dispute', '/disputes?status=open'),
  first('dispute-outcome', '/disputes?status=open', '/outcome'),
  first('dispute-lost', '/disputes?status=lost'),
  path('frauds', '/frauds'),
  path('payouts', '/payouts'),
  first('payout', '/payouts'),
  first('payout-settled', '/payouts?status=settled'),
  path('payout-run', '/payouts/run'),
  path('batches', '/payouts/batches'),
  path('exceptions', '/exceptions'),
  path('attempts', '/attempts'),
  path('merchants', '/merchants'),
  first('merchant', '/merchants?search=nordhavn'),
  first('merchant-long', '/merchants?search=det'),
  first('merchant-lines', '/merchants?search=nordhavn', '/lines'),
  first('merchant-lines-none', '/merchants?search=det', '/lines'),
  first('merchant-pricing', '/merchants?search=nordhavn', '/pricing'),
  first('merchant-clock', '/merchants?search=nordhavn', '/clock'),
  path('apps', '/apps'),
  path('deliveries', '/deliveries'),
  first('delivery', '/deliveries'),
  path('jobs', '/jobs'),
  path('jobs-waiting', '/jobs?state=waiting'),
  path('registration-close', '/registration/close'),
  path('products', '/products'),
  path('products-none', '/products?search=zebra'),
  first('product', '/products'),
  first('product-stocked', '/products?search=MUG-SAND'),
  first('product-edit', '/products', '/edit'),
  first('product-edit-json', '/products', '/edit?as=json'),
  first('product-history', '/products', '/history'),
  first('product-deletion', '/products', '/deletion'),
  path('product-new', '/products/new'),
  {
    name: 'product-new-refused',
    open: async (page, url) => {
      await page.goto(`${url}/products/new?as=json`)
      await page.getByLabel('SKU').fill('BROKEN')
      await page.getByRole('textbox', { name: 'Attributes' }).fill('{"weight": }')
      await press(page.locator('main button[type="submit"]').last())
      await page.getByRole('alert').waitFor()
    },
  },
  path('stock', '/stock'),
  path('stock-low', '/stock/low?below=30'),
  path('movements', '/movements'),
  path('movement-new', '/movements/new'),
  path('movement-transfer', '/movements/new?type=transfer'),
  path('reservations', '/reservations'),
  path('locations', '/locations'),
  path('location-new', '/locations/new'),
  path('location', '/locations/1'),
  path('imports', '/imports'),
  { name: 'import-running', open: (page, url) => sendProducts(page, url, { name: 'many.csv', text: MANY_PRODUCTS }) },
  {
    name: 'import-failed',
    open: async (page, url) => {
      await sendProducts(page, url, { name: 'faulty.csv', text: FAULTY_PRODUCTS })
      await page.getByRole('heading', { name: 'Errors by line' }).waitFor()
    },
  },
  {
    name: 'import-refused',
    open: async (page, url) => {
      await page.goto(`${url}/imports`)
      const file = { name: 'products.xlsx', mimeType: 'application/octet-stream', buffer: Buffer.from('PK') }
      await page.locator('#file').setInputFiles(file)
      await press(page.getByRole('button', { name: 'Import' }))
      await page.getByRole('alert').waitFor()
    },
  },
  path('address-wrong', '/users?cursor=x'),
  {
    name: 'form-refused',
    open: async (page, url) => {
      await page.goto(`${url}/locations/new`)
      await page.evaluate(`document.querySelector('main input[name="_csrf"]').value = 'forged'`)
      await page.locator('main [required]').first().fill('X')
      await page.evaluate(`document.querySelector('main form').submit()`)
      await page.getByRole('alert').waitFor()
    },
  },
  path('not-found', '/nothing-is-here'),
  path('user-missing', '/users/00000000-0000-4000-8000-000000000000'),
]
