import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { createBenchFolder } from '../program.ts'
import type { Journey } from './payment-page/journey.ts'
import { journeys } from './payment-page/journeys.ts'
import { takePictures } from './payment-page/screens.ts'
import { type Stage, setStage } from './payment-page/stage.ts'
import { startBrowser, visit } from './payment-page/visitor.ts'

// Pays by payment links in a real browser: in every language, by keyboard, with and without script, with axe-core on every
// page. `node bench/src/pages/payment-page.ts`. A page that loads something from another origin is a failure too. Exit status 1 for
// a failure. `--only <pattern>` takes some of the journeys; `--pictures` takes none, and renews the pictures of
// docs/payment-page. CHROMIUM names the browser.

const JOURNEY_MS = 120_000

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, pictures: { type: 'boolean', default: false } },
})
const folder = createBenchFolder()

try {
  await using started = new AsyncDisposableStack()
  const stage = await setStage(folder, started)
  const browser = await startBrowser(started)
  if (values.pictures) await takePictures(browser, stage)
  else {
    const pattern = new RegExp(values.only)
    for (const journey of journeys.filter(({ name }) => pattern.test(name))) await runJourney(browser, stage, journey)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runJourney(browser: Browser, stage: Stage, journey: Journey): Promise<void> {
  const visitor = await visit(browser, stage, journey)
  const late = setTimeout(() => visitor.leave(), JOURNEY_MS)
  try {
    await journey.go(visitor)
    visitor.expectQuiet()
    process.stdout.write(`ok    ${journey.name}\n`)
  } catch (error) {
    process.exitCode = 1
    process.stdout.write(`FAIL  ${journey.name}\n${error instanceof Error ? error.message : error}\n`)
  } finally {
    clearTimeout(late)
    await visitor.leave()
  }
}
