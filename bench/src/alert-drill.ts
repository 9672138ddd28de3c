import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { undocumentedSeries } from '@trestle/testing/metric-documents.ts'
import { Command } from 'commander'
import { findEmptyQueries, readDashboards } from './alert-drill/dashboards.ts'
import type { Fault } from './alert-drill/fault.ts'
import { faults } from './alert-drill/faults.ts'
import { type Load, startLoad } from './alert-drill/load.ts'
import { takePictures } from './alert-drill/pictures.ts'
import { checkRules, type Prometheus, startPrometheus } from './alert-drill/prometheus.ts'
import { ROOT, SERVICES, type Stage, setStage } from './alert-drill/stage.ts'
import { makeBenchFolder } from './bench-folder.ts'

interface Options {
  readonly minutes: string
  readonly rate: string
  readonly only: string
  readonly pictures: boolean
}

const CONFIG_FOLDER = join(ROOT, 'docker', 'prometheus')
/** Rates are of two minutes, increases of five, and the limits are crossed some time after. */
const FIRE_MS = 240_000
const CLEAR_MS = 420_000
const LOOK_MS = 500

/** Which alerts fired when. */
const ALERTS = { uid: 'alerts', panels: [{ targets: [{ expr: 'sum by (alertname) (ALERTS{alertstate="firing"})' }] }] }

const problems: string[] = []

await new Command('node bench/src/alert-drill.ts')
  .description(
    'Loads the services under Prometheus, asks every query of the dashboards, and plants the fault of each alert.',
  )
  .option('--minutes <number>', 'how long the load lasts before the first fault', '5')
  .option('--rate <number>', 'actions a second on each service', '15')
  .option('--only <pattern>', 'plant the faults of alerts that match', '')
  .option('--pictures', 'take the pictures of docs/observability anew', false)
  .action(run)
  .parseAsync()
for (const problem of problems) say(`FAIL  ${problem}`)
if (problems.length > 0) process.exitCode = 1

async function run({ minutes, rate, only, pictures }: Options): Promise<void> {
  say((await checkRules(CONFIG_FOLDER)).trim())
  const folder = makeBenchFolder()
  try {
    await using started = new AsyncDisposableStack()
    const stage = await setStage(folder, started)
    const ports = Object.fromEntries(SERVICES.map((name) => [name, stage[name].metricsPort]))
    const prometheus = await startPrometheus({ configFolder: CONFIG_FOLDER, folder: join(folder, 'prometheus'), ports })
    started.defer(prometheus.close)
    await stage.payments.command('ledger', 'verify')
    const load = await startLoad(stage, started, Number(rate))
    started.defer(load.stop)
    await delay(Number(minutes) * 60_000)
    const loaded = new Date()
    tellLoad(load)
    await lookAround(stage, prometheus, Number(minutes) * 60_000)
    if (pictures)
      await takePictures(prometheus.url, readDashboards(), { minutes: Math.ceil(Number(minutes)), end: loaded })
    const endings: (() => Promise<void>)[] = []
    for (const fault of faults.filter(({ alert }) => new RegExp(only).test(alert))) {
      endings.push(await drill(fault, stage, prometheus))
    }
    for (const end of endings) await end()
    const drilled = Math.ceil((Date.now() - loaded.getTime()) / 60_000)
    if (pictures) await takePictures(prometheus.url, [ALERTS], { minutes: drilled, end: new Date() })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** No answer of a plain load is a fault. */
function tellLoad(load: Load): void {
  for (const [name, statuses] of Object.entries(load.take())) {
    const list = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status} × ${count}`)
    say(`${name}: ${list.join(', ')}`)
    if ([...statuses.keys()].some((status) => status === 0 || status >= 500))
      problems.push(`${name} failed under plain load`)
  }
}

/** What is there after a plain load: every query has data, every series is documented, and no alert fires. */
async function lookAround(stage: Stage, prometheus: Prometheus, lastMs: number): Promise<void> {
  for (const dashboard of readDashboards()) {
    const { count, empty } = await findEmptyQueries(dashboard, { prometheus, lastMs })
    say(`${dashboard.title}: ${count - empty.length} of ${count} queries have data`)
    problems.push(...empty.map((query) => `no data: ${query}`))
  }
  const document = readFileSync(join(ROOT, 'docs', 'observability.md'), 'utf8')
  for (const service of SERVICES) {
    const printed = await (await fetch(`http://127.0.0.1:${stage[service].metricsPort}/metrics`)).text()
    const strange = undocumentedSeries(printed, { document, service })
    problems.push(...strange.map((series) => `${service} prints ${series}, which docs/observability.md does not know`))
  }
  const firing = await prometheus.firing()
  if (firing.size > 0) problems.push(`fires without a fault: ${[...firing].join(', ')}`)
}

/** Plants a fault, waits for its alert and repairs it. What it answers waits until the alert is over, and tells. */
async function drill(fault: Fault, stage: Stage, prometheus: Prometheus): Promise<() => Promise<void>> {
  const { alert, job, what } = fault
  const until = (isFiring: boolean, patienceMs: number) =>
    waitFor(async () => (await prometheus.firing()).has(`${alert} ${job}`) === isFiring, patienceMs)
  const fail = (message: string) => async () => void problems.push(`${alert} ${message}`)
  // What the fault before has done may raise this one's alert too.
  if ((await until(false, CLEAR_MS)) === undefined) return fail('fires before its fault')
  try {
    const repair = await fault.plant(stage)
    const fired = await until(true, FIRE_MS)
    await repair()
    if (fired === undefined) return fail(`does not fire: ${what}`)
    const over = until(false, CLEAR_MS)
    return async () => {
      const cleared = await over
      if (cleared === undefined) problems.push(`${alert} is not over after its repair`)
      say(`${alert.padEnd(20)} fired after ${seconds(fired)}, over ${seconds(cleared)} after the repair (${what})`)
    }
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

/** @returns the milliseconds until it held, or undefined when it did not in time */
async function waitFor(holds: () => Promise<boolean>, patienceMs: number): Promise<number | undefined> {
  const begun = performance.now()
  while (performance.now() - begun < patienceMs) {
    if (await holds()) return performance.now() - begun
    await delay(LOOK_MS)
  }
  return undefined
}

function seconds(milliseconds: number | undefined): string {
  return milliseconds === undefined ? 'never' : `${Math.round(milliseconds / 1_000)} s`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
