import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { readStatus } from '../../packages/stack/src/status/status-file.ts'
import { startChromium } from '../../packages/testing/src/chromium.ts'
import { canTestWith } from '../../packages/testing/src/find-program.ts'
import { freePort } from '../../packages/testing/src/free-port.ts'
import {
  ASKED,
  accountOf,
  asShop,
  buy,
  type Customer,
  comeBack,
  type ExampleStack,
  PASSWORD,
  paid,
  pay,
  paymentsOf,
  post,
  read,
  shelve,
  shopUrl,
  signUp,
  stockOf,
  UNASKED,
} from './shop-calls.ts'

const LINES_MAX = 400

/** The running shop and two customers. */
interface RunningShop {
  readonly anna: Customer
  readonly bent: Customer
  readonly restart: () => Promise<void>
}

/** Tests the shop of `examples/` on a running stack: over HTTP, and in Chromium. */
export function describeShop(stack: ExampleStack): void {
  let running: RunningShop
  const shop = () => running

  describe('examples/shop/', () => {
    beforeAll(async () => {
      // Choose the port as late as possible, because another test may take it until a program listens.
      stack.env.SHOP_PORT = String(await freePort())
      let child = await openShop(stack)
      const [anna, bent] = await Promise.all([signUp(stack, 'anna@shop.example'), signUp(stack, 'bent@shop.example')])
      const restart = async () => {
        const closed = once(child, 'close')
        child.kill('SIGTERM')
        await closed
        child = await openShop(stack)
      }
      running = { anna, bent, restart }
    })
    testPages(stack, shop)
    testOrders(stack, shop)
    testMoney(stack, shop)
    testRestart(stack, shop)
    it.runIf(canTestWith('chromium'))('sells in Chromium, by keyboard, on a narrow screen', { timeout: 90_000 }, () =>
      sellInChromium(stack, shop().anna),
    )
  })
}

async function openShop(stack: ExampleStack): Promise<ChildProcess> {
  const { child, output } = stack.run('examples/shop/server.ts')
  await vi.waitFor(() => expect(output()).toBe(`the shop is at ${shopUrl(stack)}\n`), { timeout: 60_000 })
  return child
}

function testPages(stack: ExampleStack, shop: () => RunningShop): void {
  it(`has at most ${LINES_MAX} lines`, () => {
    const files = globSync('examples/shop/*.{ts,html,css}', { cwd: stack.root })
    const lines = files.map((file) => readFileSync(join(stack.root, file), 'utf8').split('\n').length - 1)
    expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(LINES_MAX)
  })

  it('404: leads back to the shop from an unknown address', async () => {
    const page = await fetch(`${shopUrl(stack)}/orders`)
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=UTF-8'])
    const text = await page.text()
    expect(text).toContain('<title>Not found</title>')
    expect(text).toContain(
      '<main><h1>Nothing is at this address</h1><p><a href="/">Back to the shop</a></p></main></body></html>',
    )
    expect(text).not.toContain('<script')
  })

  it('serves its page with a strict policy, and tells no browser a secret', async () => {
    const page = await fetch(shopUrl(stack))
    expect(page.headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src ${stack.env.AUTH_URL}; ` +
        `form-action 'self' ${stack.env.PAYMENTS_URL}; base-uri 'none'; frame-ancestors 'none'`,
    )
    const texts = [await page.text(), await (await fetch(`${shopUrl(stack)}/sign-in.js`)).text()]
    const secrets = [accountOf(stack).appKey, String(readStatus(stack)?.SERVICE_ROLE_KEY)]
    for (const secret of secrets) expect(texts.some((text) => text.includes(secret))).toBe(false)
  })

  it('takes orders of users who are signed in, and of no foreign page', async () => {
    const { anna } = shop()
    const forged = await fetch(`${shopUrl(stack)}/orders/${randomUUID()}`, {
      method: 'POST',
      headers: { cookie: anna.cookie },
    })
    expect(forged.status).toBe(403)
    const visitor = await post(stack, `/orders/${randomUUID()}`, { email: '', cookie: '' }, { sku: 'COFFEE-HUILA' })
    expect(await visitor.text()).toContain('<p role="alert">Please sign in first.</p>')
  })
}

/** Orders, from the shelf to the customer. */
function testOrders(stack: ExampleStack, shop: () => RunningShop): void {
  it('reserves, ships and captures what is paid by 3-D Secure, and takes it back once', async () => {
    const { anna, bent } = shop()
    await shelve(stack, { name: 'Vase', price: 18, quantity: 3 })
    const { order, link } = await buy(stack, anna, 'Vase')
    expect(new URL(link).searchParams.get('value')).toBe('18.00')
    expect(await stockOf(stack, 'Vase')).toEqual({ onHand: 3, available: 2 })
    expect(await read(stack, anna, 'Vase')).toMatch(/^Reserved for you until \d\d:\d\d$/)
    await comeBack(await pay(link, ASKED))
    expect(await read(stack, anna, 'Vase')).toBe('Paid, and on its way')
    expect(await stockOf(stack, 'Vase')).toEqual({ onHand: 2, available: 2 })
    expect(await paymentsOf(stack, order)).toEqual([paid({ capturedAmount: 1_800 })])
    await post(stack, `/orders/${order}/end`, bent)
    await Promise.all([post(stack, `/orders/${order}/end`, anna), post(stack, `/orders/${order}/end`, anna)])
    expect(await read(stack, anna, 'Vase')).toBe('Returned, and refunded')
    expect(await stockOf(stack, 'Vase')).toEqual({ onHand: 3, available: 3 })
    expect(await paymentsOf(stack, order)).toEqual([paid({ capturedAmount: 1_800, refundedAmount: 1_800 })])
  })

  it('takes a double click for one order, and shows it to nobody else', async () => {
    const { anna, bent } = shop()
    const order = randomUUID()
    const before = await stockOf(stack, 'COFFEE-YIRGA')
    const answers = await Promise.all([1, 2].map(() => post(stack, `/orders/${order}`, anna, { sku: 'COFFEE-YIRGA' })))
    expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).toBe(1)
    expect(await stockOf(stack, 'COFFEE-YIRGA')).toEqual({ ...before, available: Number(before?.available) - 1 })
    expect((await post(stack, `/orders/${order}`, bent, { sku: 'COFFEE-YIRGA' })).status).toBe(200)
    expect(await read(stack, bent, 'Yirgacheffe')).toBeUndefined()
  })
}

/** Payments that arrive twice, late or with a different amount. */
function testMoney(stack: ExampleStack, shop: () => RunningShop): void {
  it('sells the last piece once, puts it back when the payment fails, and charges nobody who comes too late', async () => {
    const { anna, bent } = shop()
    await shelve(stack, { name: 'Lamp', price: 89, quantity: 1 })
    const answers = await Promise.all(
      [anna, bent].map((customer) => post(stack, `/orders/${randomUUID()}`, customer, { sku: 'Lamp' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 303])
    const [first, second] = answers[0]?.status === 303 ? [anna, bent] : [bent, anna]
    const link = String(answers.find(({ status }) => status === 303)?.headers.get('location'))
    expect(await pay(link, ASKED, 'decline')).toBeUndefined()
    // Payments reports the decline by its webhook.
    await expect.poll(() => stockOf(stack, 'Lamp')).toEqual({ onHand: 1, available: 1 })
    const { link: other } = await buy(stack, second, 'Lamp')
    const late = await pay(link, UNASKED)
    await comeBack(late)
    expect(await read(stack, first, 'Lamp')).toBe('Sold out before you paid, and nothing was charged')
    const order = String(new URL(link).searchParams.get('reference'))
    expect(await paymentsOf(stack, order)).toEqual([
      paid({ voidedAmount: 8_900 }),
      { ...paid({ successful: false }), tds: undefined },
    ])
    // This customer closes the payment page, so only the webhook reports the payment.
    await pay(other, UNASKED)
    await expect.poll(() => read(stack, second, 'Lamp')).toBe('Paid, and on its way')
    expect(await stockOf(stack, 'Lamp')).toEqual({ onHand: 0, available: 0 })
  })

  it('gives back money of another amount, of a second payment, of a cancelled order, and of none', async () => {
    const { bent } = shop()
    await shelve(stack, { name: 'Teapot', price: 24, quantity: 6 })
    const { order, link } = await buy(stack, bent, 'Teapot')
    await comeBack(await pay(link.replace('value=24.00', 'value=0.25'), UNASKED))
    expect(await read(stack, bent, 'Teapot')).toMatch(/^Reserved for you/)
    for (const _ of ['the first', 'the second']) await comeBack(await pay(link, UNASKED))
    const { order: cancelled, link: stale } = await buy(stack, bent, 'Teapot')
    await post(stack, `/orders/${cancelled}/end`, bent)
    expect(await read(stack, bent, 'Teapot')).toBe('Cancelled, and nothing was charged')
    await comeBack(await pay(stale, UNASKED))
    await pay(link.replace(/reference=[^&]+&/, ''), UNASKED)
    const amounts = async (id: string | undefined) =>
      (await paymentsOf(stack, id)).map(({ capturedAmount, voidedAmount }) => [capturedAmount, voidedAmount])
    await expect
      .poll(() => amounts(order))
      .toEqual([
        [0, 2_400],
        [2_400, 0],
        [0, 25],
      ])
    await expect.poll(() => amounts(cancelled)).toEqual([[0, 2_400]])
    await expect.poll(() => amounts(undefined)).toEqual([[0, 2_400]])
    expect(await stockOf(stack, 'Teapot')).toEqual({ onHand: 5, available: 5 })
  })
}

/** The orders and the account survive a restart. */
function testRestart(stack: ExampleStack, shop: () => RunningShop): void {
  it('keeps its app, its merchant and its orders at a restart', async () => {
    const { bent, restart } = shop()
    const before = accountOf(stack)
    const { order } = await buy(stack, bent, 'COFFEE-HUILA')
    await post(stack, `/orders/${order}/end`, bent)
    await restart()
    expect(accountOf(stack)).toEqual(before)
    const { identity } = z.object({ identity: z.object({ id: z.string() }) }).parse(await asShop(stack, '/me'))
    expect(await asShop(stack, `/identities/${identity.id}/merchants?limit=10`)).toHaveLength(1)
    expect(await asShop(stack, `/merchants/${before.id}/webhooks?limit=10`)).toHaveLength(1)
    expect(await read(stack, bent, 'Huila')).toBe('Cancelled, and nothing was charged')
  })
}

async function sellInChromium(stack: ExampleStack, anna: Customer): Promise<void> {
  const browser = await startChromium()
  const page = await browser.newPage({ viewport: { width: 320, height: 640 }, colorScheme: 'dark' })
  // Half the limit of the test, so that a failure names the waiting step.
  page.setDefaultTimeout(15_000)
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (line) => line.type() === 'error' && problems.push(line.text()))
  const press = (name: string) => page.getByRole('button', { name }).first().press('Enter')
  await page.goto(shopUrl(stack))
  await press('Buy Huila')
  await page.locator('[name=email]:focus').waitFor()
  await page.keyboard.type(anna.email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  await press('Buy Huila')
  await page.locator('#number:focus').waitFor()
  for (const text of [ASKED, '08/66', '111']) {
    await page.keyboard.type(text)
    await page.keyboard.press(text === '111' ? 'Enter' : 'Tab')
  }
  const bank = page.frameLocator('#approval-frame iframe:not([hidden])')
  await bank.getByRole('button', { name: 'Approve' }).press('Enter')
  await page.locator('#leave').press('Enter')
  // Anna may have won the last lamp, so her page may show two payments.
  const huila = page.locator('#orders article').filter({ hasText: 'Huila' }).first()
  await huila.getByText('Paid, and on its way').waitFor()
  await press('Return Huila')
  await huila.getByText('Returned, and refunded').waitFor()
  await press('Sign out')
  await page.getByRole('button', { name: 'Sign in' }).first().waitFor()
  expect(problems).toEqual([])
  await browser.close()
}
