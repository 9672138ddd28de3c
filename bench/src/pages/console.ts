import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { readStatus } from '@trestle/stack/status/status-file.ts'
import { Command } from 'commander'
import type { Browser } from 'playwright-core'
import { createBenchFolder, ROOT, runCommand, say } from '../program.ts'
import { type Cookies, type Looker, lookAtScreen, openOperatorWindow } from './console/look-at-screen.ts'
import { EMPTY_SCREENS, SCREENS, type Screen } from './console/screens.ts'
import { fillSamples, startConsole, startReceiver } from './console/start-consoles.ts'
import { startStack } from './start-stack.ts'
import { lookAt, startBrowser, type View, viewsOf } from './watch.ts'

// Starts the stack with example data, and opens every page of the console in Chromium: light and dark, on phones, tablets and
// desktops. CHROMIUM is the path of the browser.

/** Each screen is opened in all of these views. In light views, the keyboard is tested too. */
const VIEWS = viewsOf([320, 768, 1_280])
/** The folder of the pictures in the console's README. */
const README_FOLDER = join(ROOT, 'services', 'console', 'pictures')
const README_PICTURES: readonly { readonly screen: string; readonly view: View }[] = [
  { screen: 'overview', view: { width: 1_280, height: 860, scheme: 'light' } },
  { screen: 'transaction-disputed', view: { width: 1_280, height: 860, scheme: 'dark' } },
  { screen: 'users', view: { width: 390, height: 760, scheme: 'light' } },
  { screen: 'transaction-disputed', view: { width: 390, height: 760, scheme: 'dark' } },
]

const command = new Command('pnpm console:look')
  .description('Opens every page of the console in Chromium, and fails on what is wrong with one.')
  .argument('<folder>', 'takes a picture of each page, in each width and scheme')
  .option('--only <pattern>', 'open only the pages whose names match', '')
  .option(
    '--data <folder>',
    'look at the stack that runs with this folder of data, as it is, instead of a new one with examples',
  )
  .option('--readme', 'take only the pictures of the README of the console')
  .action(run)
await runCommand(command)

async function run(
  folder: string,
  { only, data, readme }: { readonly only: string; readonly data?: string; readonly readme?: true },
): Promise<void> {
  const benchFolder = createBenchFolder()
  const pictures = resolve(folder)
  mkdirSync(pictures, { recursive: true })
  const pattern = new RegExp(only)
  try {
    await using started = new AsyncDisposableStack()
    const dataDirectory = data ?? join(benchFolder, 'data')
    const status = data === undefined ? await startStack(dataDirectory, started) : readStatus({ dataDirectory })
    if (status === undefined) throw new Error(`no stack runs with the data of ${dataDirectory}`)
    const browser = await startBrowser(started)
    const looker: Looker = { browser, consoles: new Map() }
    const look = async (screens: readonly Screen[]) => {
      const chosen = screens.filter(({ name }) => pattern.test(name))
      for (const { at = 'operator' } of chosen) {
        if (looker.consoles.has(at)) continue
        const url = await startConsole(at, { status, dataDirectory }, started)
        const cookies = at === 'stranger' ? undefined : await signIn(browser, status, url)
        looker.consoles.set(at, { url, cookies })
      }
      if (readme) return takeReadmePictures(looker)
      for (const screen of chosen) {
        await lookAt(screen.name, VIEWS, (view, name) => lookAtScreen(looker, screen, view, join(pictures, name)))
      }
    }
    if (data === undefined) {
      if (!readme) await look(EMPTY_SCREENS)
      await fillSamples({ status, dataDirectory, receiver: await startReceiver(started) })
    }
    await look(SCREENS)
  } finally {
    rmSync(benchFolder, { recursive: true, force: true })
  }
}

/** Returns the cookies of the first operator. */
async function signIn(browser: Browser, status: StackStatus, url: string): Promise<Cookies> {
  const context = await openOperatorWindow(browser, { width: 1_280, height: 844, scheme: 'light' })
  const page = await context.newPage()
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('Email').fill(status.CONSOLE_EMAIL ?? '')
  await page.getByLabel('Password').fill(status.CONSOLE_PASSWORD ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((address) => address.pathname !== '/sign-in', { waitUntil: 'commit' })
  const cookies = await context.storageState()
  await context.close()
  return cookies
}

async function takeReadmePictures(looker: Looker): Promise<void> {
  mkdirSync(README_FOLDER, { recursive: true })
  for (const { screen: name, view } of README_PICTURES) {
    const screen = SCREENS.find((each) => each.name === name)
    const context = await openOperatorWindow(looker.browser, view, looker.consoles.get('operator')?.cookies)
    const page = await context.newPage()
    await screen?.open(page, looker.consoles.get('operator')?.url ?? '')
    const path = join(README_FOLDER, `${name}-${view.width}-${view.scheme}.png`)
    await page.screenshot({ path, animations: 'disabled' })
    await context.close()
    say(path)
  }
}
