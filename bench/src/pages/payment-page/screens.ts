import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { ROOT } from '../../program.ts'
import type { Stage } from './stage.ts'
import { enterCard, findBankFrame, linkOf, UNASKED } from './steps.ts'

/** A picture: what is opened, and what is done before it is taken. */
interface Screen {
  readonly name: string
  readonly show: (page: Page, stage: Stage) => Promise<void>
}

const ORDER = { value: '24.50', text: 'Order 1042: two bags of Huila, whole beans', reference: '1042' }

const screens: readonly Screen[] = [
  { name: 'payment', show: async (page, stage) => void (await page.goto(linkOf(stage, ORDER))) },
  {
    name: 'fields',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, { ...ORDER, recurring: 'y' }))
      await enterCard(page, { number: '1000', expiry: '01/20' })
    },
  },
  {
    name: 'approval',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, ORDER))
      await enterCard(page)
      await findBankFrame(page)
    },
  },
  {
    name: 'refused',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, ORDER))
      await enterCard(page)
      await (await findBankFrame(page)).getByRole('button', { name: 'Decline' }).click()
      await page.locator('#alert:not(:empty)').waitFor()
    },
  },
  {
    name: 'receipt',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, ORDER))
      await enterCard(page, { number: UNASKED })
      await page.waitForURL('**/pos/receipt?**')
    },
  },
  {
    name: 'return',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, { ...ORDER, redirect: stage.shopUrl }))
      await enterCard(page, { number: UNASKED })
      await page.locator('#leave').waitFor()
    },
  },
  {
    name: 'amount',
    show: async (page, stage) => {
      await page.goto(linkOf(stage, { ...ORDER, value: '0' }))
    },
  },
  { name: 'trouble', show: async (page, stage) => void (await page.goto(`${stage.url}/pos/receipt?receipt=none`)) },
  { name: 'problem', show: async (page, stage) => void (await page.goto(linkOf(stage, { ...ORDER, test: '' }))) },
]

const WIDTHS = [390, 1_280] as const
const SCHEMES = ['light', 'dark'] as const
const HEIGHT = 800

/** Takes a picture of each screen, on a phone and a desktop, light and dark. */
export async function takePictures(browser: Browser, stage: Stage): Promise<void> {
  const folder = join(ROOT, 'docs', 'payment-page')
  mkdirSync(folder, { recursive: true })
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: HEIGHT }, locale: 'en-GB' })
      for (const { name, show } of screens) {
        const page = await context.newPage()
        await show(page, stage)
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), animations: 'disabled' })
        await page.close()
      }
      await context.close()
    }
  }
}
